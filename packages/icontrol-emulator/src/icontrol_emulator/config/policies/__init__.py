"""The language of local traffic policies: operands, targets, and what a device refuses."""
