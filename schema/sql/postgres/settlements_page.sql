SELECT run, chunk_number, version, ended_as, tally, digest
FROM settlements
ORDER BY put_at, run, chunk_number
LIMIT $1::bigint
