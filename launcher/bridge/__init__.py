"""Training on PaddlePaddle 2.6.2's parameter servers: their demands that no document names are met here.

Python 3.8; Paddle and numpy are imported only where they are used.
"""
