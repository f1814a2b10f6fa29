"""What becomes of rows: tables, plots, targets, JSON."""
