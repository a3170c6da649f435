"""Real servers for tests, from Debian's packages, each in a temporary directory of its own on free ports."""
