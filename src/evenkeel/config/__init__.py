"""Options (oslo.config) that several rooms declare alike, and their values checked."""
