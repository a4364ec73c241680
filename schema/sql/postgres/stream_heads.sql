SELECT heads.stream, heads.version, events.digest
FROM (
  SELECT stream, max(version) AS version
  FROM events
  WHERE run = $1::text AND stream > $2::text
  GROUP BY stream
  ORDER BY stream
  LIMIT $3::bigint
) AS heads
JOIN events ON events.stream = heads.stream AND events.version = heads.version
ORDER BY heads.stream
