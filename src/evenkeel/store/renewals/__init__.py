"""Periodic reading of references to key managers: due references and results."""
