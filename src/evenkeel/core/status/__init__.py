"""Statuses and traffic of load balancers: what agents report, and what follows from it."""
