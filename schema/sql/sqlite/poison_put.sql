INSERT INTO poison (body, reason, received_at) VALUES (?1, ?2, ?3)
