"""A source behind a narrow link, second by second: what JetStream's figures 7 to 9 are made of.

Open ``source`` first; ``requests`` is what it has to send.
"""
