SELECT run FROM intents WHERE kind = ?1 ORDER BY put_at, run LIMIT ?2
