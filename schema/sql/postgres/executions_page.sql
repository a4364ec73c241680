SELECT run, case_number, repeat, attempt, outcome, score_ppm, failure
FROM executions
WHERE run = $1::text
  AND (case_number, repeat) > ($2::bigint, $3::bigint)
  AND ($4::text[] IS NULL OR outcome = ANY ($4::text[]))
ORDER BY case_number, repeat
LIMIT $5::bigint
