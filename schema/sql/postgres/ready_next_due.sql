SELECT min(due_at) FROM ready WHERE published_at IS NULL AND due_at > $1::bigint
