"""A little certificate authority that answers ACME clients, and the name server that they ask."""
