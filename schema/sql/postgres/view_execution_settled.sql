INSERT INTO executions (run, case_number, repeat, attempt, outcome, score_ppm, failure)
VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::bigint, $7::text)
ON CONFLICT (run, case_number, repeat) DO UPDATE
SET attempt = excluded.attempt, outcome = excluded.outcome, score_ppm = excluded.score_ppm, failure = excluded.failure
