-- With its pin, the digest of the chunk's stream at that version; no row is changed where there is no such event.
WITH pin AS (
  SELECT digest FROM events WHERE stream = $7::text AND version = $3::bigint
),
put AS (
  INSERT INTO settlements (run, chunk_number, version, ended_as, tally, digest, put_at)
  SELECT $1::text, $2::bigint, $3::bigint, $4::text, $5::text, pin.digest, $6::bigint FROM pin
  ON CONFLICT (run, chunk_number) DO UPDATE
  SET version = excluded.version, ended_as = excluded.ended_as, tally = excluded.tally, digest = excluded.digest,
    put_at = excluded.put_at
  WHERE excluded.version > settlements.version
)
SELECT 1 FROM pin
