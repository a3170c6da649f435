"""Certificates requested by names: their progress, and their challenges on load balancers."""
