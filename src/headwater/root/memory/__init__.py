"""How much waits at a root, and which panes it takes while that is too much. Begin with
``pausing.py``; rows themselves are none of its business.

It may touch what ``root`` may, and no room beside it.
"""
