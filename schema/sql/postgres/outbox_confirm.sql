DELETE FROM outbox_delivery_queue WHERE id = ANY ($1::bigint[]) AND claim_token = $2::text
