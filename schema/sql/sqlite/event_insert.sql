INSERT INTO events
  (stream, category, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
