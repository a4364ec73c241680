DELETE FROM settlements WHERE run = $1::text AND chunk_number = $2::bigint AND version <= $3::bigint
