SELECT count(*) FROM ready WHERE lane = ?1 AND published_at IS NOT NULL AND (?2 IS NULL OR run = ?2)
