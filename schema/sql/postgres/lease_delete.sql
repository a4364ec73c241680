DELETE FROM leases WHERE run = $1::text AND chunk_number = $2::bigint
