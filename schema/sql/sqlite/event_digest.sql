SELECT digest FROM events WHERE stream = ?1 AND version = ?2
