//! Running summaries of a stream of numbers.
