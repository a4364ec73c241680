UPDATE ready SET published_at = NULL WHERE published_at IS NOT NULL AND ($1::text IS NULL OR run = $1::text)
