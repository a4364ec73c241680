SELECT run, case_number, repeat, attempt, outcome, score_ppm, failure
FROM executions
WHERE run = ?1
  AND (case_number, repeat) > (?2, ?3)
  AND (?4 IS NULL OR outcome IN (SELECT value FROM json_each(?4)))
ORDER BY case_number, repeat
LIMIT ?5
