"""What the system decides, and the ports it decides through.

Nothing here reads a clock, a socket, the environment or a random source: values are frozen, rules are pure
functions, and everything with an effect stands behind a ``Protocol`` in :mod:`evenkeel.core.ports`.
"""
