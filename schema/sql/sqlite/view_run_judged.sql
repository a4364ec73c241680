UPDATE runs SET verdict = ?2, score_ppm = ?3 WHERE run = ?1
