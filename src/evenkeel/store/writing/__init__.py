"""What all writes share: the revision lock, conflicts, quotas, events."""
