-- Another cluster than the last one counts its transactions anew: a new epoch of the feed begins.
WITH latest AS (
  SELECT epoch, system_identifier FROM epochs ORDER BY epoch DESC LIMIT 1
),
here AS (
  SELECT system_identifier::text AS identifier FROM pg_control_system()
)
INSERT INTO epochs (epoch, system_identifier, since_at)
SELECT coalesce((SELECT epoch FROM latest), 0) + 1, here.identifier, floor(extract(epoch FROM clock_timestamp()) * 1000)
FROM here
WHERE NOT EXISTS (SELECT 1 FROM latest WHERE latest.system_identifier = here.identifier)
ON CONFLICT (epoch) DO NOTHING
