"""A job on this machine, without a cluster."""
