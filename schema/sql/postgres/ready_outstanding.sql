SELECT count(*) FROM ready WHERE lane = $1::text AND published_at IS NOT NULL
