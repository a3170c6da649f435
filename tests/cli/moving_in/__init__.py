"""Imports from other systems."""
