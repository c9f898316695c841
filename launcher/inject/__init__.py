"""Brings the launcher into pods of any image."""
