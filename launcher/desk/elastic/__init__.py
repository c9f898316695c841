"""Elastic jobs at the desk: how wide one is, who leaves, and another number of pods for it."""
