SELECT count(*) FROM ready WHERE lane = $1::text AND published_at IS NOT NULL AND ($2::text IS NULL OR run = $2::text)
