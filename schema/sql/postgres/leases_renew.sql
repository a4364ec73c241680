-- What has expired stays expired, by the clock of this very moment. A row that somebody holds is left to the next
-- heartbeat; it is told with the others all the same, because a worker stops for a lease that it is not told of.
WITH live AS (
  SELECT run, chunk_number, term
  FROM leases
  WHERE holder = $1::text AND expires_at > floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
),
free AS (
  SELECT run, chunk_number
  FROM leases
  WHERE holder = $1::text AND expires_at > floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ORDER BY run, chunk_number
  FOR NO KEY UPDATE SKIP LOCKED
),
renewed AS (
  UPDATE leases
  SET expires_at = least(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint, leases.hard_deadline_at)
  FROM free
  WHERE leases.run = free.run AND leases.chunk_number = free.chunk_number
)
SELECT live.run, live.chunk_number, live.term, coalesce(desired.desired, 'running')
FROM live
LEFT JOIN desired ON desired.run = live.run
