"""Paddle's v1 command line, `paddle pserver` and `paddle train`, on the engine; Python 3.8."""
