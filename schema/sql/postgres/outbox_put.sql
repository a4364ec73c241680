INSERT INTO outbox_delivery_queue (dedupe_key, routing_key, body, available_at)
VALUES ($1::text, $2::text, $3::bytea, $4::bigint)
ON CONFLICT (dedupe_key) DO NOTHING
