-- Streams that are appended to anywhere are short; an index over ids would cost every append.
SELECT version FROM events WHERE stream = $1::text AND id = $2::text
