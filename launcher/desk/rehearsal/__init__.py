"""A job's life on this machine alone."""
