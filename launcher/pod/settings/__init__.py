"""What a pod was told: every variable, its default and its check."""
