INSERT INTO tribunal.yardstick
  (epoch, stream, category, version, id, command, type, type_version, run, team, payload, recorded_at, digest)
SELECT 1, 'attempt-' || s.stream, 'attempt', row, '01M8QHWV5V5WN9PN2C6HZW7J54', '01M8QHWV5V5WN9PN2C6HZW7J54',
  'attempt.cancelled', 1, NULL, 'measure', '{"reason":"' || repeat('x', 400) || '"}', 0, decode(repeat('00', 32), 'hex')
FROM (SELECT nextval('tribunal.yardstick_stream')) AS s (stream), generate_series(1, :rows) AS row;
