INSERT INTO blob_refs (digest, run) VALUES ($1::bytea, $2::text) ON CONFLICT (digest, run) DO NOTHING
