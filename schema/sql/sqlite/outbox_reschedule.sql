UPDATE outbox_delivery_queue SET claim_token = NULL, available_at = ?3 WHERE id = ?1 AND claim_token = ?2
