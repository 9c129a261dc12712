"""The detectors for errors of 0 and 1, where River has them; they are those of `millstream.drift`."""

from millstream.drift.error_rate import DDM, EDDM, FHDDM, HDDM_A, HDDM_W

__all__ = ["DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW", "HDDM_A", "HDDM_W"]

#: As newer versions of River call them.
HDDMA = HDDM_A
HDDMW = HDDM_W
