SELECT version, digest, command FROM events WHERE stream = ?1 ORDER BY version DESC LIMIT 1
