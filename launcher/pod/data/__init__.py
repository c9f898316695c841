"""How a tree is taken from a hostile volume: decided, opened, checked, copied, put into its place."""
