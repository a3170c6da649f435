"""Periodic reading of references to key managers: references that are due, and the consequences of what was
read.
"""
