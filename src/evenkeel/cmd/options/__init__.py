"""Options of all processes, a module for each section, and the parts that they are built from."""
