-- What has expired stays expired, by the clock of this very moment; a row that somebody holds is left to the next
-- heartbeat.
WITH mine AS (
  SELECT run, chunk_number
  FROM leases
  WHERE holder = $1::text AND expires_at > floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ORDER BY run, chunk_number
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE leases
SET expires_at = least(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint, leases.hard_deadline_at)
FROM mine
WHERE leases.run = mine.run AND leases.chunk_number = mine.chunk_number
RETURNING leases.run, leases.chunk_number, leases.term,
  coalesce((SELECT desired.desired FROM desired WHERE desired.run = leases.run), 'running')
