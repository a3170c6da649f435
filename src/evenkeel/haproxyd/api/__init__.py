"""The daemon's HTTPS API: routes, who may use them, and errors as answers."""
