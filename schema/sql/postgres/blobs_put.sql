-- The caller sorts them by digest: two transactions with the same blobs meet in the same order.
INSERT INTO blobs (digest, bytes, kept_at)
SELECT new.digest, new.bytes, $3::bigint
FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS new (digest, bytes, place)
ORDER BY new.place
ON CONFLICT (digest) DO NOTHING
