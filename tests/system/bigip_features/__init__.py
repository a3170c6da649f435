"""Features of the API on a BIG-IP: made through the API, looked at with clients that nobody here wrote, and used."""
