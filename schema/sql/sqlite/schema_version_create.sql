CREATE TABLE IF NOT EXISTS schema_version (
  -- COMMENT The number of a migration that was applied; the highest is the schema's version.
  version INTEGER NOT NULL PRIMARY KEY,
  -- COMMENT ms since the epoch.
  applied_at INTEGER NOT NULL
) STRICT
