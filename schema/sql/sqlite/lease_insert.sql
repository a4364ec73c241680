INSERT INTO leases (run, chunk_number, term, grant_id, holder, expires_at, hard_deadline_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
