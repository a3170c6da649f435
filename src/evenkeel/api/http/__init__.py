"""Requests: authentication and limits on their way in, bodies, query parameters, routes and styles of the APIs."""
