INSERT INTO desired (run, desired, version)
VALUES (?1, ?2, ?3)
ON CONFLICT (run) DO UPDATE
SET desired = excluded.desired, version = excluded.version
WHERE excluded.version > desired.version
