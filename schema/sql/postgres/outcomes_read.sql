SELECT run, attempt, binding, outcome FROM outcomes WHERE attempt = $1::text ORDER BY binding
