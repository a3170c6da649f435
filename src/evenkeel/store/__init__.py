"""The Store port on SQL: SQLite for one host, PostgreSQL or MariaDB for several. All SQL of the project is here."""
