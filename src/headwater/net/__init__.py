"""Agents over sockets: what an agent asks of a network, and the ways that there are.

The only room that knows sockets, TLS and bytes of others. Open ``network`` first. ``values`` is the
one place where bytes become values, ``transport`` carries them over TLS, ``memory`` within one
process, ``identity`` says who is who, ``control`` is the operators' channel.

It may touch ``node`` and what is below it; of the rooms that know the world, none.
"""
