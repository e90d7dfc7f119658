"""What a root holds on disk: accepted summaries, states, answers, and how far it is done.

Open ``root_ledger`` first.

It may touch what ``store`` may, and of the rooms beside it ``results``.
"""
