"""Other ways that the papers describe, to compare with; no product runs them."""
