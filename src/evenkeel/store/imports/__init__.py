"""Load balancers that come from another system, with the ids that they had there."""
