"""Load balancers that mirror another system's."""
