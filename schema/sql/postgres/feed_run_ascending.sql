-- Below the snapshot's horizon nothing can appear any more; what an older cluster wrote is all there.
SELECT position, stream, version, id, command, type, type_version, run, team, payload, causation, recorded_at, digest
FROM events
WHERE (epoch, xid, position) > ($1::bigint, ($2::text)::xid8, $3::bigint)
  AND (epoch < $4::bigint OR xid < pg_snapshot_xmin(pg_current_snapshot()))
  AND run = $11::text
  AND ($5::text IS NULL OR category = $5::text)
  AND ($6::text IS NULL OR type = $6::text)
  AND ($7::text IS NULL OR starts_with(type, $7::text))
  AND ($8::bigint IS NULL OR recorded_at >= $8::bigint)
  AND ($9::bigint IS NULL OR recorded_at < $9::bigint)
ORDER BY epoch, xid, position
LIMIT $10::bigint
