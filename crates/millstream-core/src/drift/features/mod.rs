//! Detectors of change in rows, without labels (virtual drift): which features moved, and how far?
//!
//! Each is a `Comparison` of two windows in a file of its own; `detector` makes a part of it, and
//! `held::FeatureDriftDetector` adds the names of features.

mod binned;
mod bins;
mod cells;
mod clusters;
mod d3;
mod detector;
mod finding;
mod k_means;
mod kolmogorov;
mod ks;
mod logistic;
mod ocdd;
mod one_class;
mod onset;
mod parameters;
mod rows;
mod scale;
mod space;

pub use binned::{CHI_SQUARE_TEST, HELLINGER_DISTANCE, PSI};
pub use clusters::CLUSTER_DRIFT;
pub use d3::D3;
pub(crate) use finding::most_moved;
pub use finding::Finding;
pub use ks::KS_TEST;
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
