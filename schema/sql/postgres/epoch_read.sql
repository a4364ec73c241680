-- The epoch that this cluster's horizon is about: the last one, or, where another cluster wrote that, one to come.
SELECT latest.epoch + (latest.system_identifier <> here.system_identifier::text)::integer
FROM (SELECT epoch, system_identifier FROM epochs ORDER BY epoch DESC LIMIT 1) AS latest
CROSS JOIN pg_control_system() AS here
