UPDATE runs SET status = $2::text, reason = $3::text, ended_at = coalesce($4::bigint, ended_at) WHERE run = $1::text
