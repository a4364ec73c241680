UPDATE ready
SET published_at = ?4, publications = publications + 1
WHERE run = ?1 AND chunk_number = ?2 AND ready_seq = ?3
