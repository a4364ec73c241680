-- Changes a row when it is new or the same; none when the chunk is planned with other content.
INSERT INTO plan_rows (run, chunk_number, seeded)
VALUES ($1::text, $2::bigint, $3::text)
ON CONFLICT (run, chunk_number) DO UPDATE
SET seeded = excluded.seeded
WHERE plan_rows.seeded = excluded.seeded
