-- One statement for all events of all units. Positions follow the order of the units; the rows are taken in the order
-- of their streams, so that two processes that write the same streams wait for each other and never in a circle.
WITH placed AS MATERIALIZED (
  SELECT nextval('events_position_seq') AS position, new.*
  FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[],
    $11::text[], $12::text[], $13::text[], $14::bytea[])
    WITH ORDINALITY AS new
    (stream, category, version, id, command, type, type_version, run, team, payload, causation, digest, place)
  ORDER BY new.place
)
INSERT INTO events
  (position, epoch, stream, category, version, id, command, type, type_version, run, team, payload, causation,
  recorded_at, digest)
OVERRIDING SYSTEM VALUE
SELECT placed.position, $1::bigint, placed.stream, placed.category, placed.version, placed.id, placed.command,
  placed.type, placed.type_version, placed.run, placed.team, placed.payload, placed.causation, $2::bigint, placed.digest
FROM placed
ORDER BY placed.stream COLLATE "C", placed.version
RETURNING position, stream, version
