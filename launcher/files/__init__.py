"""Files between a desk and a volume: one framed stream, and the same rules at both of its ends.

`python -m launcher.files serve DIRECTORY` is the end in a pod, launcher.desk.pfs has the other one. Python alone.
"""
