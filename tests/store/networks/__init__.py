"""Networks to which devices are attached."""
