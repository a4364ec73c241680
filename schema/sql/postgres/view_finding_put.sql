INSERT INTO findings (run, attempt, binding, finding_index, finding) VALUES ($1::text, $2::text, $3::text, $4::bigint, $5::text)
