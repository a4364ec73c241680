SELECT run, attempt, binding, finding_index, finding FROM findings WHERE attempt = $1::text ORDER BY binding, finding_index
