"""The runtime API of a running HAProxy: commands, parsing of answers, and detection of drift."""
