-- An incarnation lives while its session holds the advisory lock of its name. The rows are taken in the order of all
-- who lock leases.
WITH others AS (
  SELECT DISTINCT holder FROM leases WHERE holder <> $1::text AND expires_at > $2::bigint
),
dead AS MATERIALIZED (
  SELECT holder FROM others WHERE pg_try_advisory_xact_lock(hashtextextended('tribunal ' || holder, 0))
),
theirs AS (
  SELECT leases.run, leases.chunk_number
  FROM leases
  WHERE leases.holder IN (SELECT dead.holder FROM dead) AND leases.expires_at > $2::bigint
  ORDER BY leases.run, leases.chunk_number
  FOR NO KEY UPDATE
)
UPDATE leases
SET expires_at = $2::bigint
FROM theirs
WHERE leases.run = theirs.run AND leases.chunk_number = theirs.chunk_number
