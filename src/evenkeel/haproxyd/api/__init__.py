"""The daemon's HTTPS API: routes, authentication, and mapping of errors to responses."""
