"""A stock Octavia in front of the demo's cluster, with ``evenkeel-octavia`` as its provider."""
