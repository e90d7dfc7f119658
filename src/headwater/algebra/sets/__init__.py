"""Sets of integers, for ordinals, panes and numbers of updates: as bits, as ranges, and changing.

Pure, and below everything else. Open ``ranges`` first.

It may touch what ``algebra`` may, and no room beside it.
"""
