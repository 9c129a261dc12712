"""What is in a stream: the kind of each column, missing values, ranges, the target, and probable mistakes."""

from __future__ import annotations

from millstream.stream.profiling.columns import ColumnProfile
from millstream.stream.profiling.contract import Checked, Violation
from millstream.stream.profiling.remarks import Remark
from millstream.stream.profiling.stream_profile import Profile, profile

__all__ = ["Checked", "ColumnProfile", "Profile", "Remark", "Violation", "profile"]
