SELECT coalesce(sum(executions), 0), coalesce(sum(passed), 0), coalesce(sum(failed), 0), coalesce(sum(errored), 0),
  coalesce(sum(abstained), 0)
FROM chunks
WHERE run = ?1
