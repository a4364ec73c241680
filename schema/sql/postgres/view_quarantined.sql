INSERT INTO quarantine (run, chunk_number, case_number, repeat, attempt, reason, status, since_at)
VALUES ($1::text, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text, 'waiting', $7::bigint)
ON CONFLICT (run, case_number, repeat, attempt) DO UPDATE
SET chunk_number = excluded.chunk_number, reason = excluded.reason, status = 'waiting', since_at = excluded.since_at
