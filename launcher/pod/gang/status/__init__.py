"""The gang's network: statuses served and read."""
