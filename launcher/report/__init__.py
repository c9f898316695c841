"""The gang's story as one page: `python -m launcher.report output/`."""
