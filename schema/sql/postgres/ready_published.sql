UPDATE ready
SET published_at = $4::bigint, publications = publications + 1
WHERE run = $1::text AND chunk_number = $2::bigint AND ready_seq = $3::bigint
