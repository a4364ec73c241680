INSERT INTO schema_version (version, applied_at) VALUES (?1, ?2)
