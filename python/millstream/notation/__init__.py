"""Models as text: `StandardScaler | LogisticRegression(l2=0.001, optimizer=AdaGrad(0.1))`.

`parse` makes the part that a text names, and `text` writes the text that makes a part. What may stand in a text
is what the registry knows, by its short or its full name, with numbers, texts in quotes, True, False, None, lists
and dicts as arguments, `|` for pipelines and `+` for unions. A text is read, never run:
it may come from a stranger.

    chain     = union { "|" union }
    union     = value { "+" value }
    value     = number | text | True | False | None | part | group | list | dict
    part      = name [ "(" [ argument { "," argument } ] ")" ]
    argument  = [ name "=" ] chain
    group     = "(" chain ")", or with commas a tuple
"""

from __future__ import annotations

from millstream.errors import InvalidNotation
from millstream.notation.build import Vocabulary, parameters_of, parse
from millstream.notation.write import text

__all__ = ["InvalidNotation", "Vocabulary", "parameters_of", "parse", "text"]
