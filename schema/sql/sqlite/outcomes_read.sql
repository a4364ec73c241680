SELECT run, attempt, binding, outcome FROM outcomes WHERE attempt = ?1 ORDER BY binding
