DELETE FROM outbox_delivery_queue WHERE id = ?1 AND claim_token = ?2
