//! Bayes with features taken as independent given the class.
