"""Options (oslo.config) that several packages share, and checks of their values."""
