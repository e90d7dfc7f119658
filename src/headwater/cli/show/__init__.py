"""How values look to people and programs: tables, lines, JSON, files, progress.

Open ``output`` first.
"""
