"""Databases: SQLite, PostgreSQL and MariaDB behind one interface, and SQL that they spell differently."""
