"""Where programs stand: the stacks of their threads, and what is read in them."""
