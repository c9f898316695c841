"""Distributed training as plain Kubernetes Jobs. Imports nothing, so that each part costs only itself."""

__version__ = "0.1.0"
