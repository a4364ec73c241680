SELECT run, chunk_number, status, term, recoveries, executions, passed, failed, errored, abstained
FROM chunks
WHERE run = $1::text
ORDER BY chunk_number
