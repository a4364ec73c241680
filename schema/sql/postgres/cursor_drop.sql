DELETE FROM cursors WHERE run = $1::text
