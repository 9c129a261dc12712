"""The detectors for errors of 0 and 1 in the module where River has them; the same as in `millstream.drift`."""

from millstream.drift.error_rate import DDM, EDDM, FHDDM, HDDM_A, HDDM_W

__all__ = ["DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW", "HDDM_A", "HDDM_W"]

#: Their names in newer versions of River.
HDDMA = HDDM_A
HDDMW = HDDM_W
