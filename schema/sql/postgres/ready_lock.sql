SELECT ready.run, ready.chunk_number, ready.ready_seq
FROM ready
JOIN unnest($1::text[], $2::bigint[]) AS wanted (run, chunk_number)
  ON wanted.run = ready.run AND wanted.chunk_number = ready.chunk_number
ORDER BY ready.run, ready.chunk_number
FOR UPDATE OF ready
