SELECT position, stream, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest
FROM events
WHERE stream = $1::text AND version > $2::bigint
ORDER BY version
LIMIT $3::bigint
