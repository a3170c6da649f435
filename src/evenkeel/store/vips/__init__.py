"""VIP addresses and the ports that carry them: who holds which, and who lets go."""
