INSERT INTO intents (run, kind, put_at) VALUES (?1, ?2, ?3) ON CONFLICT (run, kind) DO NOTHING
