"""Moves of load balancers from one device group to another: see :mod:`evenkeel.core.control.moves`."""
