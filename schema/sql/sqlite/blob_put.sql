INSERT INTO blobs (digest, bytes, kept_at) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING
