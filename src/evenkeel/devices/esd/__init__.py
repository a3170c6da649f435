"""Enhanced services of agents, shared by the drivers that offer some: reading the files, their users, and changes."""
