"""Reading a device: one partition before a change, and statuses, statistics and utilization of the whole device."""
