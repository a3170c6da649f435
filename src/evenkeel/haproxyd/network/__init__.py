"""Addresses and ports of the host: which ones are in use, reserved or forbidden."""
