-- The oldest transaction that holds the feed back: whose it is and how long it is open, in ms. How long is NULL for
-- the session of another role, unless this one belongs to pg_read_all_stats. A prepared transaction has no process: 0.
SELECT open.pid, floor(extract(epoch FROM clock_timestamp() - open.since) * 1000)::bigint, open.name
FROM (
  SELECT pid, backend_xid AS xid, xact_start AS since, coalesce(application_name, '') AS name
  FROM pg_stat_activity
  WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT 0, transaction, prepared, 'prepared transaction ' || gid
  FROM pg_prepared_xacts
) AS open
ORDER BY age(open.xid) DESC
LIMIT 1
