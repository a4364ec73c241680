INSERT INTO desired (run, desired, version)
VALUES ($1::text, $2::text, $3::bigint)
ON CONFLICT (run) DO UPDATE
SET desired = excluded.desired, version = excluded.version
WHERE excluded.version > desired.version
