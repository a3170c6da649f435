"""Ground floor of the core: ids, values, errors and helpers without relation to load balancers."""
