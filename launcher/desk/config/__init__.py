"""The configuration at the desk."""
