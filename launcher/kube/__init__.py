"""Kubernetes as the pod and the desk use it: one transport, one account, one reader of objects."""
