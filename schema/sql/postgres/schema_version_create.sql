CREATE TABLE IF NOT EXISTS tribunal.schema_versions (
  version bigint PRIMARY KEY,
  applied_at bigint NOT NULL
)
