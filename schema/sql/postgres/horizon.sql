-- The oldest transaction that holds the feed back: how long it is open, in ms, and whose it is.
SELECT pid, floor(extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint, coalesce(application_name, '')
FROM pg_stat_activity
WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
ORDER BY backend_xid::text::bigint
LIMIT 1
