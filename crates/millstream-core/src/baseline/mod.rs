//! The simplest predictors, which any other must beat.
