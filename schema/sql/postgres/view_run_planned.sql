INSERT INTO runs (run, team, profile, profile_version, dataset, plan_digest, cases, executions, status, created_at)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7::bigint, $8::bigint, 'creating', $9::bigint)
ON CONFLICT (run) DO UPDATE
SET team = excluded.team, profile = excluded.profile, profile_version = excluded.profile_version,
  dataset = excluded.dataset, plan_digest = excluded.plan_digest, cases = excluded.cases,
  executions = excluded.executions, status = 'creating', reason = NULL, verdict = NULL, score_ppm = NULL,
  created_at = excluded.created_at, ended_at = NULL
