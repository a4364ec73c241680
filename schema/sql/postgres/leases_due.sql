SELECT run, chunk_number, term, grant_id, holder, expires_at, hard_deadline_at
FROM leases
WHERE expires_at <= $1::bigint
ORDER BY expires_at, run, chunk_number
LIMIT $2::bigint
