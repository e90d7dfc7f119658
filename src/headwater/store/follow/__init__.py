"""Following growing logs: which files a source has at a poll, and what became of each since the
last.

Open ``follow`` first, then ``watch`` and ``listing``.

It may touch what ``store`` may, and of the rooms beside it ``input`` and ``recognise``.
"""
