"""Enhanced services of a listener, as lines and files of its frontend and backends."""
