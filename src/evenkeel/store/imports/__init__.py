"""Load balancers imported from another system, with the ids that they had there."""
