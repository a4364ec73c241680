INSERT INTO poison (body, reason, received_at) VALUES ($1::bytea, $2::text, $3::bigint)
