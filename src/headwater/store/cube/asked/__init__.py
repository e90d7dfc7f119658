"""A cube that is asked about the past: which panes, of which rows, and who holds them meanwhile.

Open ``cube_slices`` first.

It may touch what ``cube`` may, and no room beside it.
"""
