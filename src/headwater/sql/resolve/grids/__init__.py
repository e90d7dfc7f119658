"""Windows that are not of time alone: of numbers, of what each site has read, of its last rows.

Each file reads one kind of call into a ``Grid``; ``find_window`` beside this room knows them all.
It may touch what ``resolve`` may. Open ``sequence_windows.py`` first.
"""
