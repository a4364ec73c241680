SELECT count(*) FROM ready WHERE lane = ?1 AND published_at IS NOT NULL
