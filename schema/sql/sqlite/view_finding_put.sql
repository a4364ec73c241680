INSERT INTO findings (run, attempt, binding, finding_index, finding) VALUES (?1, ?2, ?3, ?4, ?5)
