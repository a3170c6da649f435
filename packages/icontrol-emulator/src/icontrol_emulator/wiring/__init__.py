"""The networks of emulated devices: their VLANs, tunnels, self IPs and routes become real on Linux.

Each route domain of a device is a network namespace, and each of its VLANs and tunnels a TAP interface there. Frames
that leave it are tagged, or encapsulated, as the objects say, and go to the cables of the device's interfaces. So
traffic flows only where the configuration of the device lets it flow.
"""
