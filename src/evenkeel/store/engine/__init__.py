"""Databases: SQLite, PostgreSQL and MariaDB behind one interface, and SQL that differs between them."""
