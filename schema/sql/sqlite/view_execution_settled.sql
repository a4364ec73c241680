INSERT OR REPLACE INTO executions (run, case_number, repeat, attempt, outcome, score_ppm, failure)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
