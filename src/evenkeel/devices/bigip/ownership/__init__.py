"""Which device group a device belongs to, and which agent may write to a partition of it."""
