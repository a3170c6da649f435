"""What agents report: outcomes of changes, statuses, what devices lack."""
