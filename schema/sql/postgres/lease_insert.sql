INSERT INTO leases (run, chunk_number, term, grant_id, holder, expires_at, hard_deadline_at)
VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::bigint, $7::bigint)
