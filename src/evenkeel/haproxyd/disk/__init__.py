"""What the daemon keeps on disk, and how it is written so that it survives the loss of power."""
