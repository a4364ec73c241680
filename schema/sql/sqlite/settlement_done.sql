DELETE FROM settlements WHERE run = ?1 AND chunk_number = ?2 AND version <= ?3
