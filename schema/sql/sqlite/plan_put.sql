INSERT INTO plan_rows (run, chunk_number, seeded) VALUES (?1, ?2, ?3) ON CONFLICT (run, chunk_number) DO NOTHING
