"""One partition made as wanted: what differs, and the writes that change it."""
