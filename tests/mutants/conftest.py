"""The list is a package beside ``src``; tests find it however pytest was started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
