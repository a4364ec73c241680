SELECT position, stream, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest
FROM events
WHERE stream = ?1 AND version > ?2
ORDER BY version
LIMIT ?3
