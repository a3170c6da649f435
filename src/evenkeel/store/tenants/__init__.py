"""Load balancers and what is below them, as tenants make, read, change and delete them."""
