"""Edges and roots over plain dictionaries, from ``pane_kit``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "root"))
