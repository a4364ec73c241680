-- An incarnation lives while its session holds the advisory lock of its name.
WITH others AS (
  SELECT DISTINCT holder FROM leases WHERE holder <> $1::text AND expires_at > $2::bigint
),
dead AS (
  SELECT holder FROM others WHERE pg_try_advisory_xact_lock(hashtextextended('tribunal ' || holder, 0))
)
UPDATE leases
SET expires_at = $2::bigint
FROM dead
WHERE leases.holder = dead.holder AND leases.expires_at > $2::bigint
