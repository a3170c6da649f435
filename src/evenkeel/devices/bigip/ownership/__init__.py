"""Which device group owns a device, and which agent may write to a partition of it."""
