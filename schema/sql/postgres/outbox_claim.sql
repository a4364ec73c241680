WITH available AS (
  SELECT id
  FROM outbox_delivery_queue
  WHERE available_at <= $3::bigint AND ($5::text IS NULL OR run = $5::text)
  ORDER BY id
  LIMIT $4::bigint
  FOR UPDATE SKIP LOCKED
)
UPDATE outbox_delivery_queue
SET claim_token = $1::text, available_at = $2::bigint, attempts = attempts + 1
FROM available
WHERE outbox_delivery_queue.id = available.id
RETURNING outbox_delivery_queue.id, attempts, dedupe_key, routing_key, body
