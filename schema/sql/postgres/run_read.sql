SELECT run, team, profile, profile_version, dataset, plan_digest, cases, executions, status, reason, verdict,
  score_ppm, created_at, ended_at
FROM runs
WHERE run = $1::text
