-- Brings back what has expired: what a renewal must not do. For the test that breaks it.
WITH mine AS (
  SELECT run, chunk_number
  FROM leases
  WHERE holder = $1::text
  ORDER BY run, chunk_number
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE leases
SET expires_at = least(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint, leases.hard_deadline_at)
FROM mine
WHERE leases.run = mine.run AND leases.chunk_number = mine.chunk_number
RETURNING leases.run, leases.chunk_number, leases.term,
  coalesce((SELECT desired.desired FROM desired WHERE desired.run = leases.run), 'running')
