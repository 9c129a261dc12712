"""Write streams.json, the digests of the first rows of each generator; existing digests are kept.

If a digest changes, a released stream has changed: remove the old digest by hand, and give the reason in
CHANGELOG.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from test_synth import GOLDEN, NAMES, built, digest

if __name__ == "__main__":
    kept = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    digests = {name: kept.get(name) or digest(built(name)) for name in NAMES}
    GOLDEN.write_text(json.dumps(digests, indent=1) + "\n")
