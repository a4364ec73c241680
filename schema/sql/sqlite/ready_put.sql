INSERT OR REPLACE INTO ready (run, chunk_number, ready_seq, lane, due_at, published_at, publications)
VALUES (?1, ?2, ?3, ?4, ?5, NULL, 0)
