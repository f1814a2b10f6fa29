"""Benchmarks of torch.ops.reduce against torch.sum and its kin: `python -m benchmarks --help`."""
