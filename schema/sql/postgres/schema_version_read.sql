SELECT coalesce(max(version), 0) FROM tribunal.schema_versions
