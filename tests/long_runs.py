"""What ``make long`` tries of everything and ``make test`` of a part."""

import os

IS_LONG = bool(os.environ.get("HEADWATER_LONG"))
