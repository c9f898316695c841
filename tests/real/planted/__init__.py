"""Twelve faults planted in programs of several frameworks, and what the launcher says of each."""
