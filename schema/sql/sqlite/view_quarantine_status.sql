UPDATE quarantine
SET status = ?4
WHERE run = ?1 AND case_number = ?2 AND repeat = ?3 AND status = 'waiting'
