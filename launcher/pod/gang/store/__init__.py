"""The gang's files on the shared volume."""
