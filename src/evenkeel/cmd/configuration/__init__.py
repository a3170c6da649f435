"""What processes are configured with: ini files, the options that may be in them, and commands about them."""
