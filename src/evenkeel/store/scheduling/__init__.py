"""What the scheduler reads, and the decisions that it commits."""
