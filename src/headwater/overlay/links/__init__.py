"""The neighbours of a peer: links kept, heartbeats exchanged, silence noticed.

Open ``neighbours`` first.
"""
