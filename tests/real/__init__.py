"""Tests that train on Paddle's own parameter servers, in a virtual environment that they make once."""
