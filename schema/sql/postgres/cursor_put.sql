INSERT INTO cursors (run) VALUES ($1::text) ON CONFLICT (run) DO NOTHING
