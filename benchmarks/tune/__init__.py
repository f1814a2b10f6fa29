"""What plans are tuned by, measured on a GPU: `python -m benchmarks.tune --help`."""
