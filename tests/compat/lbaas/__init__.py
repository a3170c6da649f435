"""LBaaS v2 and v1, request by request: a recorded table, and what plays it."""
