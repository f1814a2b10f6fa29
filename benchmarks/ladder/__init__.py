"""The classic reduction kernels, one file a rung, measured side by side: docs/ladder.md."""
