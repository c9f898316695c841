"""One file a verb: its flags, its examples, and a short function that does it and returns the exit code."""
