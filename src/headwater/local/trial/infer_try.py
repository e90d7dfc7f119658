"""What ``try --infer`` runs: a source that is inferred, and a question, given or of our own."""

from __future__ import annotations

from pathlib import Path

from sqlglot import exp

from headwater.errors import ConfigurationError
from headwater.local.look.infer_files import Inferred, infer_files
from headwater.sql.compile import parse_script


def with_inferred_source(text: str | None, sites: Path) -> tuple[str, Inferred]:
    """The statements to run. ``text`` has streams over one source that it does not declare: that
    is inferred from the files, under the name that it has there. None: the first question that
    one would ask."""
    if text is None:
        inferred = infer_files([sites])
        return f"{inferred.statement};\n{inferred.question};\n", inferred
    inferred = infer_files([sites], name=_undeclared(text))
    return f"{inferred.statement};\n{text}", inferred


def _undeclared(text: str) -> str:
    script = parse_script(text)
    declared = {source.name.lower() for source in script.sources}
    named = {
        table.name: None for stream in script.streams for table in stream.select.find_all(exp.Table)
    }
    missing = [name for name in named if name.lower() not in declared]
    if len(missing) == 1:
        return missing[0]
    came = (
        f"these are missing: {', '.join(missing)}" if missing else "it declares all that it reads"
    )
    raise ConfigurationError(
        f"--infer: wanted streams over one source that the file does not declare; {came}"
    )
