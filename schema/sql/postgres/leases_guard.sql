-- A guard lets heartbeats and other guards pass, and excludes grant, expiry and release.
SELECT leases.run, leases.chunk_number, leases.term, leases.grant_id, leases.expires_at, leases.hard_deadline_at
FROM leases
JOIN unnest($1::text[], $2::bigint[]) AS wanted (run, chunk_number)
  ON wanted.run = leases.run AND wanted.chunk_number = leases.chunk_number
ORDER BY leases.run, leases.chunk_number
FOR KEY SHARE OF leases
