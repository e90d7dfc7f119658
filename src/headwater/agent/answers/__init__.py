"""Windows that are due: their rows through Spark, out as published answers.

Open ``answer_runner`` first.
"""
