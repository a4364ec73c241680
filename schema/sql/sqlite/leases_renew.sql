-- What has expired stays expired.
UPDATE leases
SET expires_at = min(?2, hard_deadline_at)
WHERE holder = ?1 AND expires_at > ?3
RETURNING run, chunk_number, term,
  coalesce((SELECT desired.desired FROM desired WHERE desired.run = leases.run), 'running')
