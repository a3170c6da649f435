"""The Store port on SQL: SQLite for one machine, PostgreSQL for many. All SQL of the project lives here."""
