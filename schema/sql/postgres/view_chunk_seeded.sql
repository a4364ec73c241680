INSERT INTO chunks (run, chunk_number, status, term, recoveries, executions, passed, failed, errored, abstained)
VALUES ($1::text, $2::bigint, 'ready', 0, 0, $3::bigint, 0, 0, 0, 0)
ON CONFLICT (run, chunk_number) DO UPDATE
SET status = 'ready', term = 0, recoveries = 0, executions = excluded.executions, passed = 0, failed = 0, errored = 0,
  abstained = 0
