-- Where a position stands in the feed's order: its own place, or that of the nearest one before it.
SELECT epoch, xid::text, position FROM events WHERE position <= $1::bigint ORDER BY position DESC LIMIT 1
