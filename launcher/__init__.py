"""Distributed training as plain Kubernetes Jobs. Imports nothing, so that each part costs only itself."""
