"""Reading a device: one partition before a change, and statuses, statistics and capacity of all of it."""
