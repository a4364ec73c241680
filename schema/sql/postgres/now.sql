-- Milliseconds since the epoch, now and not when the transaction began.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
