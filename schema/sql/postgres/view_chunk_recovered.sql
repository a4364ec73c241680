UPDATE chunks SET recoveries = recoveries + 1 WHERE run = $1::text AND chunk_number = $2::bigint
