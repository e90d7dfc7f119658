"""Mutated bytes against everything that reads bytes of others: ``python -m fuzz``."""
