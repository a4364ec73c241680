UPDATE chunks SET status = $3::text, term = coalesce($4::bigint, term) WHERE run = $1::text AND chunk_number = $2::bigint
