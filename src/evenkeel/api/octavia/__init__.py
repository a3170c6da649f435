"""The Octavia v2 API: request types, rules, conversion of requests to core values, views, handlers."""
