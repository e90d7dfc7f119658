"""How values look to people and programs: tables, lines, JSON, files, progress.

Open ``output`` first.

It may touch what ``cli`` may, and no room beside it.
"""
