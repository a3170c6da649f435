"""Ground floor of the core: ids, values, errors and helpers that know nothing of load balancers."""
