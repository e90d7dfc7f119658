"""What is wrong with a piece of a statement, before it is known where the text came from.

The rules that find it run on trees, for statements that a person wrote and for SQL from the wire.
The compiler turns an objection into a refusal that points into the person's text; a site has no
such text and says the sentence alone.
"""

from sqlglot import exp


class Objection(Exception):
    def __init__(self, node: exp.Expr | None, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
