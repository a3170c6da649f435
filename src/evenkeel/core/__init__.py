"""The domain: values, rules and ports.

Nothing here reads a clock, a socket, the environment or a random source: values are frozen, rules are pure
functions, and every effect is behind a ``Protocol`` in :mod:`evenkeel.core.ports`.
"""
