"""The ``headwater`` command: what people type, and what they see.

Open ``main`` first. ``commands`` has a file for each group of commands, ``show`` what they print.

It may touch every room.
"""
