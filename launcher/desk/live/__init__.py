"""A gang as it runs, seen from the desk: as a table of its ranks, and as its leader's own page."""
