//! Learners of many classes made of learners of two.
