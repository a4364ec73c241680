SELECT pg_try_advisory_lock(hashtextextended('tribunal ' || $1::text, 0))
