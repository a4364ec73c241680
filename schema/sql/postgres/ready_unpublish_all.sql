UPDATE ready SET published_at = NULL WHERE published_at IS NOT NULL
