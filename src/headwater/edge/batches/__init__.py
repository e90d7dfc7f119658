"""When a batch helps somebody, how much may go into it, and how long it takes.

Open ``batch_times`` first.

It may touch what ``edge`` may, and no room beside it.
"""
