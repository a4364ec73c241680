INSERT OR REPLACE INTO quarantine
  (run, chunk_number, case_number, repeat, attempt, reason, status, since_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'waiting', ?7)
