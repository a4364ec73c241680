UPDATE chunks SET recoveries = recoveries + 1 WHERE run = ?1 AND chunk_number = ?2
