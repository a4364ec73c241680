-- One statement for all events of all units; positions follow their order.
INSERT INTO events
  (epoch, stream, category, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest)
SELECT $1::bigint, new.stream, new.category, new.version, new.id, new.command, new.type, new.type_version, new.run,
  new.team, new.payload, new.causation, $2::bigint, new.digest
FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[],
  $11::text[], $12::text[], $13::text[], $14::bytea[])
  WITH ORDINALITY AS new
  (stream, category, version, id, command, type, type_version, run, team, payload, causation, digest, place)
ORDER BY new.place
RETURNING position, stream, version
