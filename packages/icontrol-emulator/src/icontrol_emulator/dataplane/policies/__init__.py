"""Local traffic policies in traffic."""
