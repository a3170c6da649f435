"""Implements the Store port on SQL: SQLite for one host, PostgreSQL or MariaDB for several hosts."""
