-- The first time after $1 ms, then after twice as long, and so on; the shift ends where it means for ever. The rows
-- are taken in the order of all who lock ready rows.
WITH overdue AS (
  SELECT run, chunk_number
  FROM ready
  WHERE published_at IS NOT NULL
    AND published_at <= $2::bigint - ($1::bigint << least(publications - 1, 20)::integer)
    AND ($3::text IS NULL OR run = $3::text)
  ORDER BY run, chunk_number
  FOR NO KEY UPDATE
)
UPDATE ready
SET published_at = NULL
FROM overdue
WHERE ready.run = overdue.run AND ready.chunk_number = overdue.chunk_number
