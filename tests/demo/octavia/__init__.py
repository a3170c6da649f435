"""The demo behind a stock Octavia."""
