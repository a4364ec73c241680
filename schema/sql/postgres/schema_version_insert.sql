INSERT INTO tribunal.schema_versions (version, applied_at)
VALUES ($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
