"""Windows made of many panes, at a cost that hardly depends on their number.

Open ``sliding_window`` first.
"""
