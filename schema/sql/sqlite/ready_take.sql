DELETE FROM ready WHERE run = ?1 AND chunk_number = ?2 AND ready_seq = ?3
