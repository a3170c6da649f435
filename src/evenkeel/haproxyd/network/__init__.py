"""Addresses and ports of the host: which are in use, reserved or forbidden."""
