"""Training on today's Paddle as the launcher needs it: what 2.6.2's parameter servers ask for and do not say.

Python 3.8; Paddle and numpy are imported only where they are used.
"""
