SELECT wanted.stream, head.version, head.digest, head.command
FROM unnest($1::text[]) AS wanted (stream)
CROSS JOIN LATERAL (
  SELECT events.version, events.digest, events.command
  FROM events
  WHERE events.stream = wanted.stream
  ORDER BY events.version DESC
  LIMIT 1
) AS head
