"""Times that no clock shows, each by what it stands for.

They are numbers, not infinities: intervals are added to them and differences taken, and none of
that may yield what is no number.
"""

DUE_NOW_S = -1e18
"""A deadline that has passed, whatever the time is."""
NEVER_DUE_S = 1e18
"""A deadline that does not come."""
LONG_AGO_S = DUE_NOW_S
"""When something last happened that never did, or of which it isn't known when."""
