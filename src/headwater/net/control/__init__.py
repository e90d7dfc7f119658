"""What operators ask of an agent, on the agents' port.

Open ``control`` first.
"""
