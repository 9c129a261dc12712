//! Detectors of change in a stream of numbers.
