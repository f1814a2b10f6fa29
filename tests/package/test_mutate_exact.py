"""tools/mutate_exact.py: its mutants are of the sources as they are."""

import sys

from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from mutate_exact import missing_texts


def test_every_mutant_finds_its_text():
    assert missing_texts() == []
