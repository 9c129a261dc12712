"""Models in notation: `StandardScaler | LogisticRegression(l2=0.001, optimizer=AdaGrad(0.1))`.

`parse` builds the component that a notation describes, and `text` writes the notation of a component. A notation
consists of components of the registry, by their short or full names, with numbers, quoted strings, True, False,
None, lists and dicts as arguments, `|` for pipelines and `+` for unions. It is parsed, never executed, so it may
come from an untrusted source.

    chain     = union { "|" union }
    union     = value { "+" value }
    value     = number | text | True | False | None | part | group | list | dict
    part      = name [ "(" [ argument { "," argument } ] ")" ]
    argument  = [ name "=" ] chain
    group     = "(" chain ")", or with commas a tuple
"""

from __future__ import annotations

from millstream.errors import InvalidNotation
from millstream.notation.build import IN_PYTHON, Vocabulary, parameters_of, parse
from millstream.notation.write import text

__all__ = ["IN_PYTHON", "InvalidNotation", "Vocabulary", "parameters_of", "parse", "text"]
