"""The directory that LAUNCHER_IMPORTABLE puts at the end of programs' PYTHONPATH: `launcher` for who has none."""
