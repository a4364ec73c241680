SELECT seeded FROM plan_rows WHERE run = ?1 AND chunk_number = ?2
