"""Behaviour of single types beyond the tables."""
