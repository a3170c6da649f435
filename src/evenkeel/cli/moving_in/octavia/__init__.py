"""A stock Octavia as the source of an import: read by its API, never written.

:mod:`~evenkeel.cli.moving_in.octavia.source` reads; :mod:`~evenkeel.cli.moving_in.octavia.trees` makes load balancers
in the form of our import API of what was read.
"""
