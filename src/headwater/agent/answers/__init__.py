"""Windows that are due: their rows through Spark, out as published answers.

Open ``answer_runner`` first.

It may touch what ``agent`` may, and of the rooms beside it ``control``.
"""
