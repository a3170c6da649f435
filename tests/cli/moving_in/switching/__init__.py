"""An Octavia as the source of an import."""
