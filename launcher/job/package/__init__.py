"""A package of this machine that goes with a job: what of it, and as which object."""
