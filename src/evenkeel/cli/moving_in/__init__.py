"""``evenkeel import``: load balancers of another system are planned and imported with their ids.

A source (:mod:`evenkeel.cli.moving_in.lbaas_v2`, :mod:`evenkeel.cli.moving_in.octavia`) makes trees in the form of our
import API of what the other system shows, with remarks about what cannot be carried over;
:mod:`evenkeel.cli.moving_in.importing` has them checked and imported, whatever their source.
"""
