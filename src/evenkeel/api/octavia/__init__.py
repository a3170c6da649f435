"""The Octavia v2 API: request types, rules, planners from requests to core values, views, handlers."""
