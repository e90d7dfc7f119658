"""When a site may close and seal a pane: from which one on, by which clock, and how far that is
believed.

Pure rules over what was read and when. Open ``closing`` first.

It may touch what ``edge`` may, and no room beside it.
"""
