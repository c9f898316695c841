"""A job whose number of pods may change: how many, what it needs for that, and the policies of its Job."""
