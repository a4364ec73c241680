SELECT run, chunk_number, case_number, repeat, attempt, reason, status, since_at
FROM quarantine
WHERE $1::text IS NULL OR run = $1::text
ORDER BY run, case_number, repeat, attempt
LIMIT $2::bigint
