"""Rewrites of a question: what sites compute and the root finishes, which order an answer has,
which groups can't be finished, which questions several roots can share.

Open ``split_aggregates`` first.
"""
