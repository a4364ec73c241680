INSERT INTO outcomes (run, attempt, binding, outcome)
VALUES ($1::text, $2::text, $3::text, $4::text)
ON CONFLICT (attempt, binding) DO UPDATE SET run = excluded.run, outcome = excluded.outcome
