"""One call, measured: who makes it, its time, the limit that the time is held against, whether its result is right."""
