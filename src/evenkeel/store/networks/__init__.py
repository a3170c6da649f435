"""Networks to which devices are attached: declared by operators, with route domains and addresses for each shard."""
