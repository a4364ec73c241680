UPDATE outbox_delivery_queue
SET claim_token = ?1, available_at = ?2, attempts = attempts + 1
WHERE id IN (
  SELECT id FROM outbox_delivery_queue WHERE available_at <= ?3 AND (?5 IS NULL OR run = ?5) ORDER BY id LIMIT ?4
)
RETURNING id, attempts, dedupe_key, routing_key, body
