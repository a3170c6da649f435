"""TLS of the data plane: profiles' settings, OpenSSL contexts made from them, and streams over TLS."""
