-- The rows are taken in the order of all who lock ready rows.
WITH published AS (
  SELECT run, chunk_number
  FROM ready
  WHERE published_at IS NOT NULL AND ($1::text IS NULL OR run = $1::text)
  ORDER BY run, chunk_number
  FOR NO KEY UPDATE
)
UPDATE ready
SET published_at = NULL
FROM published
WHERE ready.run = published.run AND ready.chunk_number = published.chunk_number
