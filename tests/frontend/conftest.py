"""Laws are tried on the same examples in every run, and a busy machine fails none of them."""

from hypothesis import settings

settings.register_profile("headwater", deadline=None, derandomize=True)
settings.load_profile("headwater")
