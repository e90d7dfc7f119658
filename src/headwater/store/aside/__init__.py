"""Input that was set aside because a site was short of CPU: stretches of cuts, each read by itself.

Open ``aside_log`` first: how a stretch leaves the live reading. ``aside_input`` stands where a
follower stands, of an input that has been found long ago. What is given up, and when, others say.

It may touch what ``store`` may, and of the rooms beside it ``follow`` and ``input``.
"""
