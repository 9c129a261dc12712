"""Decision trees that grow from a stream, one example at a time."""

from millstream.tree.hoeffding import HoeffdingTreeClassifier

__all__ = ["HoeffdingTreeClassifier"]
