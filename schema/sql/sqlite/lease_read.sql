SELECT term, grant_id, expires_at, hard_deadline_at FROM leases WHERE run = ?1 AND chunk_number = ?2
