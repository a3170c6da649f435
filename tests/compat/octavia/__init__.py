"""Octavia's API v2: the requests, the answers of a stock Octavia, and what starts one."""
