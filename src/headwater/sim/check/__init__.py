"""The rules that every simulated run is held to, and the truth that they are held against.

Open ``truth`` first, then ``checkers``.
"""
