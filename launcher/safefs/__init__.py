"""Directories on hostile volumes: held by descriptors, no link followed, refusals as sentences."""
