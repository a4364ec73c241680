SELECT chunk_number, seeded FROM plan_rows WHERE run = ?1 AND chunk_number > ?2 ORDER BY chunk_number LIMIT ?3
