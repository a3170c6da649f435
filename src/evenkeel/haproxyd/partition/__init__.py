"""One partition and all of them: who may change one, what it holds, and how changes are merged and applied."""
