DELETE FROM plan_rows WHERE run = $1::text
