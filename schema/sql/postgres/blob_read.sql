SELECT bytes FROM blobs WHERE digest = $1::bytea
