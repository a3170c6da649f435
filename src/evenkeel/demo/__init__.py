"""A demonstration of Even Keel on one host: real processes, real traffic, and an agent that is killed."""
