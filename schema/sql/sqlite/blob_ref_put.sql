INSERT INTO blob_refs (digest, run) VALUES (?1, ?2) ON CONFLICT (digest, run) DO NOTHING
