"""The agent of the file copies, and what both ends of a copy share; the standard library alone."""
