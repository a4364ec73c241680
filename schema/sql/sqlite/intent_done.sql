DELETE FROM intents WHERE run = ?1 AND kind = ?2
