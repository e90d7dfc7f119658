"""What a root's acknowledgement means at a site: what has arrived, and what is asked for again.

Open ``apply_ack`` first; ``ack_view`` is one acknowledgement as one site sees it.

It may touch what ``edge`` may, and of the rooms beside it ``outbox``.
"""
