INSERT OR REPLACE INTO runs
  (run, team, profile, profile_version, dataset, plan_digest, cases, executions, status, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'creating', ?9)
