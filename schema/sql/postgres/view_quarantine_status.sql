UPDATE quarantine
SET status = $4::text
WHERE run = $1::text AND case_number = $2::bigint AND repeat = $3::bigint AND status = 'waiting'
