"""Addresses and ports of the host: who listens where, and where nobody may."""
