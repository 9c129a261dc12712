//! Test-then-train: predict, score, learn, row by row, with labels that may come late.
