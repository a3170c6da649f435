"""``evenkeel import``: load balancers of another system are planned and imported with their ids.

A source (:mod:`evenkeel.cli.moving_in.lbaas_v2`, :mod:`evenkeel.cli.moving_in.octavia`) reads the other
system and makes trees in the form of our import API, with remarks about what cannot be carried over;
:mod:`evenkeel.cli.moving_in.importing` has the trees checked and imported, whatever their source.
"""
