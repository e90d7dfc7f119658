"""The data of ``examples/``: made from seeds, so that nobody's real data is in the project."""
