"""Where everybody is: the own coordinate from round trips, and a table of all others'.

Open ``coordinates`` first.
"""
