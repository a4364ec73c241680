DELETE FROM leases WHERE run = ?1 AND chunk_number = ?2
