SELECT run FROM intents WHERE kind = $1::text ORDER BY put_at, run LIMIT $2::bigint
