"""What runs inside the container: the life of a pod, from settings to outcome."""
