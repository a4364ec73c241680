UPDATE leases SET expires_at = ?2 WHERE holder <> ?1 AND expires_at > ?2
