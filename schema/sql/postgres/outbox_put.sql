INSERT INTO outbox_delivery_queue (dedupe_key, routing_key, body, available_at, run)
VALUES ($1::text, $2::text, $3::bytea, $4::bigint, $5::text)
ON CONFLICT (dedupe_key) DO NOTHING
