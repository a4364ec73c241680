INSERT INTO outbox_delivery_queue (dedupe_key, routing_key, body, available_at, run)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (dedupe_key) DO NOTHING
