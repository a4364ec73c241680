INSERT INTO ready (run, chunk_number, ready_seq, lane, due_at, published_at, publications)
VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::bigint, NULL, 0)
ON CONFLICT (run, chunk_number) DO UPDATE
SET ready_seq = excluded.ready_seq, lane = excluded.lane, due_at = excluded.due_at, published_at = NULL, publications = 0
