"""A pod's programs: planned, started, supervised, watched."""
