"""The ``evenkeel`` command: what operators ask and change. It speaks HTTP with the operators' API and nothing else."""
