INSERT OR REPLACE INTO chunks
  (run, chunk_number, status, term, recoveries, executions, passed, failed, errored, abstained)
VALUES (?1, ?2, 'ready', 0, 0, ?3, 0, 0, 0, 0)
