"""What is measured: the cases of every suite, and the runs that make rows of them."""
