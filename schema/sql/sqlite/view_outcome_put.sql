INSERT OR REPLACE INTO outcomes (run, attempt, binding, outcome) VALUES (?1, ?2, ?3, ?4)
