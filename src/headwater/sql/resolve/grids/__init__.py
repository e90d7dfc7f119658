"""Windows that are not of time alone: of numbers, of what each site has read, of its last rows.

Each file reads one kind of call into a ``Grid``; ``find_window`` beside this room knows them all.
Open ``sequence_windows.py`` first.

It may touch what ``resolve`` may, and no room beside it.
"""
