UPDATE outbox_delivery_queue
SET claim_token = NULL, available_at = $3::bigint
WHERE id = ANY ($1::bigint[]) AND claim_token = $2::text
