SELECT pg_advisory_xact_lock(hashtextextended('tribunal schema', 0))
