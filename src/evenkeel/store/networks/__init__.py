"""Networks to which devices are attached, and the route domains and addresses that each shard's devices have
in these networks.
"""
