"""Configuration of processes: ini files, their options, and commands about them."""
