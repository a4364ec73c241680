UPDATE chunks SET status = ?3, term = coalesce(?4, term) WHERE run = ?1 AND chunk_number = ?2
