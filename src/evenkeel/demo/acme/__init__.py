"""A little certificate authority that answers ACME clients, and the name servers that both use."""
