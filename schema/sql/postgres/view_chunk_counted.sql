UPDATE chunks
SET passed = passed + ($3::text = 'passed')::integer,
  failed = failed + ($3::text = 'failed')::integer,
  errored = errored + ($3::text = 'errored')::integer,
  abstained = abstained + ($3::text = 'abstained')::integer
WHERE run = $1::text AND chunk_number = $2::bigint
