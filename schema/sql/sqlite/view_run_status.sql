UPDATE runs SET status = ?2, reason = ?3, ended_at = coalesce(?4, ended_at) WHERE run = ?1
