INSERT INTO intents (run, kind, put_at) VALUES ($1::text, $2::text, $3::bigint) ON CONFLICT (run, kind) DO NOTHING
