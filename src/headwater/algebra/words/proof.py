"""The proof that a word is its speaker's own, carried beside the word.

A link proves who carries a message, a signature who speaks in it. What is somebody's own word
(a site's state, a root's acknowledgement, an operator's command) is signed over its exact bytes,
and whoever hands it on hands on these bytes: a version that knows fewer fields than the signer
passes them on unharmed.

Machines never look inside. To them a proof is whatever their ``Signatures`` made of a word.
"""

import msgspec


class Proof(msgspec.Struct, frozen=True, array_like=True):
    word: bytes
    """The word as its speaker wrote it."""
    signature: bytes
    key: bytes
    """Which key: a few bytes that stand for the signer's certificate."""
    certificate: bytes = b""
    """Of an operator, whom nobody is linked with for long: the certificate itself."""
