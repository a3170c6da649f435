"""Even Keel on one machine, to look at: real processes, real traffic, and an agent that is killed."""
