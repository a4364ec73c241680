SELECT chunk_number, seeded FROM plan_rows WHERE run = $1::text AND chunk_number > $2::bigint ORDER BY chunk_number LIMIT $3::bigint
