"""Asks the launcher of this pod where the programs of its gang stand: what the desk runs in a pod."""
