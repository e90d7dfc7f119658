"""The wide area within one process: the same bytes with delays and cuts, or values handed over.

Open ``memory_network`` first.
"""
