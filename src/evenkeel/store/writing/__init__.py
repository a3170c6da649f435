"""Parts shared by all writes: the revision lock, conflicts, quotas, events."""
