DELETE FROM ready WHERE run = $1::text AND chunk_number = $2::bigint AND ready_seq = $3::bigint
