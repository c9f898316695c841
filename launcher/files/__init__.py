"""The copy agent's first address, `python -m launcher.files`; it lives in `launcher.transfer`."""
