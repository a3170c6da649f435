"""Responses and errors of all APIs."""
