-- The first time after ?1 ms, then after twice as long, and so on; the shift ends where it means for ever.
UPDATE ready
SET published_at = NULL
WHERE published_at IS NOT NULL
  AND published_at <= ?2 - (?1 << min(publications - 1, 20))
  AND (?3 IS NULL OR run = ?3)
