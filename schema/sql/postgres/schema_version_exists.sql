SELECT to_regclass('tribunal.schema_versions') IS NOT NULL
