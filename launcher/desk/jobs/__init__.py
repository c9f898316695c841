"""Jobs as the desk submits, watches and ends them."""
