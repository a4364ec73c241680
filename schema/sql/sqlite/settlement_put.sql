INSERT INTO settlements (run, chunk_number, version, ended_as, tally, digest, put_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (run, chunk_number) DO UPDATE
SET version = excluded.version, ended_as = excluded.ended_as, tally = excluded.tally, digest = excluded.digest,
  put_at = excluded.put_at
WHERE excluded.version > settlements.version
