-- A run's turn counts what it has in flight already, so that pages of any size stay fair.
WITH due AS (
  SELECT ready.run, ready.chunk_number, ready.ready_seq, ready.lane, ready.due_at,
    row_number() OVER (PARTITION BY ready.run ORDER BY ready.chunk_number) AS place
  FROM ready
  JOIN cursors ON cursors.run = ready.run
  LEFT JOIN desired ON desired.run = ready.run
  WHERE ready.lane = $1::text
    AND ready.published_at IS NULL
    AND ready.due_at <= $2::bigint
    AND ($4::text IS NULL OR ready.run = $4::text)
    AND coalesce(desired.desired, 'running') = 'running'
),
busy AS (
  SELECT dues.run,
    (SELECT count(*) FROM leases WHERE leases.run = dues.run)
    + (SELECT count(*) FROM ready WHERE ready.run = dues.run AND ready.lane = $1::text AND ready.published_at IS NOT NULL)
    AS chunks
  FROM (SELECT DISTINCT run FROM due) AS dues
)
SELECT due.run, due.chunk_number, due.ready_seq, due.lane, due.due_at
FROM due
JOIN busy ON busy.run = due.run
ORDER BY due.place + busy.chunks, due.run, due.chunk_number
LIMIT $3::bigint
