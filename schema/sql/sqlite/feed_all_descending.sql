SELECT position, stream, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest
FROM events
WHERE position < ?1
  AND (?2 IS NULL OR category = ?2)
  AND (?3 IS NULL OR type = ?3)
  AND (?4 IS NULL OR substr(type, 1, length(?4)) = ?4)
  AND (?5 IS NULL OR recorded_at >= ?5)
  AND (?6 IS NULL OR recorded_at < ?6)
ORDER BY position DESC
LIMIT ?7
