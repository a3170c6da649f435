"""Mirrored load balancers: each shows one of another system's database (Octavia's), which alone may change it."""
