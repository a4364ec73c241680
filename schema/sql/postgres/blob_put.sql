INSERT INTO blobs (digest, bytes, kept_at) VALUES ($1::bytea, $2::bytea, $3::bigint) ON CONFLICT (digest) DO NOTHING
