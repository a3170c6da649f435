"""Rules for lines of HAProxy's configuration, by which the daemon checks what drivers send, and drivers what operators
write.
"""
