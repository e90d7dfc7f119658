"""What leaves before the close of its pane: the keys of a batch, and updates of those chosen.

Open ``early_maker`` first. It reads and writes the tables of its cube.

It may touch what ``cube`` may, and no room beside it.
"""
