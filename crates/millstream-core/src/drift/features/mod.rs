//! Drift detectors for rows, without labels (virtual drift): which features drifted, and how far.
//!
//! Each is a `WindowComparison` of two windows in a file of its own. `window_comparison` turns it into a component, and
//! `held::FeatureDriftDetector` adds the names of the features.

mod binned_tests;
mod binning;
mod change_point;
mod cluster_drift;
mod contingency_table;
mod d3;
mod feature_space;
mod finding;
mod kolmogorov_smirnov;
mod ks_test;
mod logistic_model;
mod ocdd;
mod one_class_svm;
mod parameters;
mod row_window;
mod scale;
mod window_comparison;

pub use binned_tests::{CHI_SQUARE_TEST, HELLINGER_DISTANCE, PSI};
pub use cluster_drift::CLUSTER_DRIFT;
pub use d3::D3;
pub(crate) use finding::most_moved;
pub use finding::Finding;
pub use ks_test::KS_TEST;
pub use ocdd::OCDD;

#[cfg(test)]
mod tests {
    use crate::declaration::Built;
    use crate::detector::FeatureDriftDetector;
    use crate::registry;
    use crate::row::Row;
    use serde_json::{json, Value as Json};

    pub fn detector(name: &str, parameters: Json) -> Box<dyn FeatureDriftDetector> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::FeatureDriftDetector(detector)) = registry::build_resolved(&description) else {
            panic!("no detector")
        };
        detector
    }

    pub fn plain(detector: &mut dyn FeatureDriftDetector, rows: &[&[f64]]) {
        rows.iter().for_each(|row| detector.update(Row::Plain(row)).expect("a good row"));
    }
}
