SELECT coalesce(sum(executions), 0)::bigint, coalesce(sum(passed), 0)::bigint, coalesce(sum(failed), 0)::bigint,
  coalesce(sum(errored), 0)::bigint, coalesce(sum(abstained), 0)::bigint
FROM chunks
WHERE run = $1::text
