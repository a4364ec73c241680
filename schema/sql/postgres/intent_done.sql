DELETE FROM intents WHERE run = $1::text AND kind = $2::text
