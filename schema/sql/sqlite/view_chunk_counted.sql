UPDATE chunks
SET passed = passed + (?3 = 'passed'),
  failed = failed + (?3 = 'failed'),
  errored = errored + (?3 = 'errored'),
  abstained = abstained + (?3 = 'abstained')
WHERE run = ?1 AND chunk_number = ?2
