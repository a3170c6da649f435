"""Stores reports of agents: outcomes of changes, statuses, differences on devices."""
