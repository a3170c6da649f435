"""VIP addresses and their ports: allocation and release."""
