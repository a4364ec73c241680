UPDATE runs SET verdict = $2::text, score_ppm = $3::bigint WHERE run = $1::text
