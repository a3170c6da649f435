"""Certificates that controllers get from a certificate authority by ACME (RFC 8555): values and rules only."""
