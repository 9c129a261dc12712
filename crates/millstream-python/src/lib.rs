//! The binding between Python and the core: `millstream._core`. It contains code per role, not per learner, so new
//! learners do not change it.

mod answers;
mod any_held;
mod arms;
mod borrowed_rows;
mod buffer_pool;
mod contextual;
mod covariances;
mod dates;
mod dict_batch;
mod dicts;
mod errors;
mod feature_rows;
mod generator;
mod http;
mod json;
mod key_column;
mod keyed;
mod keyed_rows;
mod keyed_values;
mod labels;
mod lock;
mod model;
mod model_many;
mod model_one;
mod outcomes;
mod part;
mod peak;
mod policy_estimators;
mod prequential;
mod round_batch;
mod round_reader;
mod samples;
mod saved;
mod series;
mod serving;
mod signals;
mod sketches;
mod targets;
mod text;
mod thread_buffers;
mod together;
mod values;
mod vocabulary;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arms::{Decision, Policy, World};
    #[pymodule_export]
    use crate::buffer_pool::{BufferPool, ParsedRows};
    #[pymodule_export]
    use crate::contextual::ContextualPolicy;
    #[pymodule_export]
    use crate::covariances::CovarianceEstimator;
    #[pymodule_export]
    use crate::feature_rows::FeatureDriftDetector;
    #[pymodule_export]
    use crate::generator::Generator;
    #[pymodule_export]
    use crate::http::{HttpRequest, HttpServer};
    #[pymodule_export]
    use crate::json::are_objects;
    #[pymodule_export]
    use crate::keyed::KeyedParts;
    #[pymodule_export]
    use crate::keyed_rows::Keyed;
    #[pymodule_export]
    use crate::keyed_values::{KeyedDriftDetector, KeyedForecaster};
    #[pymodule_export]
    use crate::lock::_forked;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::outcomes::Metric;
    #[pymodule_export]
    use crate::part::Part;
    #[pymodule_export]
    use crate::peak::rank_one_rate;
    #[pymodule_export]
    use crate::policy_estimators::PolicyEstimator;
    #[pymodule_export]
    use crate::prequential::Prequential;
    #[pymodule_export]
    use crate::round_batch::{RoundBatch, RoundReader};
    #[pymodule_export]
    use crate::samples::Sampler;
    #[pymodule_export]
    use crate::saved::{seal, SavedFile};
    #[pymodule_export]
    use crate::series::Forecaster;
    #[pymodule_export]
    use crate::serving::{
        crc32c, first_wrong_record, new_id, pack_body, parse_json, parse_json_lines, parse_json_with_raw,
        predict_lines, unpack_body, write_json, EventGroup, EventQueue, IdRange, LabelLearner, LabelRun,
        PendingEvents, PredictShortcut,
    };
    #[pymodule_export]
    use crate::sketches::Sketch;
    #[pymodule_export]
    use crate::text::{count_lines, hash_feature, hash_words, SharedFeatures, SharedNames, TextReader};
    #[pymodule_export]
    use crate::together::step_together;
    #[pymodule_export]
    use crate::values::{DriftDetector, Statistic};
    #[pymodule_export]
    use crate::vocabulary::{DictHasher, Vocabulary};

    /// The registry in JSON: names, roles, descriptions, parameters.
    #[pyfunction]
    fn catalogue() -> String {
        millstream_core::registry::catalogue().to_string()
    }

    /// The former name of each renamed parameter of a component, and its present name.
    #[pyfunction]
    fn former_names(name: &str) -> std::collections::HashMap<&'static str, &'static str> {
        millstream_core::registry::former_names(name).collect()
    }

    /// The canonical form of a description, both in JSON.
    #[pyfunction]
    fn resolve(py: Python<'_>, description: &str) -> PyResult<String> {
        use crate::errors::OrRaise;
        let description = crate::part::read_description(py, description)?;
        Ok(millstream_core::registry::resolve(&description).or_raise(py)?.to_string())
    }

    /// The value of a described loss, or its slope, at each pair of a target and a score.
    #[pyfunction]
    fn loss<'py>(
        py: Python<'py>,
        description: &str,
        y: numpy::PyReadonlyArray1<'py, f64>,
        z: numpy::PyReadonlyArray1<'py, f64>,
        slope: bool,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        use crate::errors::OrRaise;
        let loss = millstream_core::losses::Loss::described(description).or_raise(py)?;
        let at = |(&y, &z)| {
            let y = match loss.for_classes() {
                true if y > 0.0 => 1.0,
                true => -1.0,
                false => y,
            };
            if slope {
                loss.slope(y, z)
            } else {
                loss.value(y, z)
            }
        };
        Ok(numpy::PyArray1::from_iter(py, y.as_array().iter().zip(z.as_array()).map(at)))
    }

    /// The values of a kernel between the rows of two matrices, row after row.
    #[pyfunction]
    fn kernel<'py>(
        py: Python<'py>,
        description: &str,
        x: numpy::PyReadonlyArray2<'py, f64>,
        z: numpy::PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        use crate::errors::OrRaise;
        let kernel = millstream_core::kernel::Kernel::described(description).or_raise(py)?;
        let width = z.as_array().ncols();
        Ok(numpy::PyArray1::from_vec(py, kernel.gram(x.as_slice()?, z.as_slice()?, width)))
    }

    /// The values of a kernel between a text and each of some texts, not normalised.
    #[pyfunction]
    fn texts<'py>(
        py: Python<'py>,
        description: &str,
        text: &str,
        texts: Vec<String>,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        use crate::errors::OrRaise;
        let kernel = millstream_core::kernel::Kernel::described(description).or_raise(py)?;
        Ok(numpy::PyArray1::from_vec(py, kernel.texts(text, &texts)))
    }

    /// The probabilities that a described explorer gives to actions with these predicted rewards, after `t` rounds.
    #[pyfunction]
    fn explored<'py>(
        py: Python<'py>,
        description: &str,
        rewards: numpy::PyReadonlyArray1<'py, f64>,
        t: f64,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        use crate::errors::OrRaise;
        let described = crate::part::read_description(py, description)?;
        let probabilities =
            millstream_core::bandit::contextual::explore::explored(&described, rewards.as_slice()?, t);
        Ok(numpy::PyArray1::from_vec(py, probabilities.or_raise(py)?))
    }

    /// The rate at step `t` of a described schedule, or of a number.
    #[pyfunction]
    fn rate(py: Python<'_>, description: &str, t: f64) -> PyResult<f64> {
        use crate::errors::OrRaise;
        Ok(millstream_core::optim::Schedule::described(description).or_raise(py)?.at(t))
    }

    /// The verbs of models. Python classes publish those of their role (`millstream._native`), so here they get
    /// private names; errors about their arguments keep the public ones.
    const VERBS: [&str; 7] = [
        "learn_one",
        "predict_one",
        "predict_proba_one",
        "predict_interval_one",
        "score_one",
        "step_one",
        "transform_one",
    ];

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let model = module.getattr("Model")?;
        for verb in VERBS {
            model.setattr(format!("_{verb}"), model.getattr(verb)?)?;
            model.delattr(verb)?;
        }
        // Distinguishes locks held by threads of the parent from those of this process (see `lock`).
        let os = module.py().import("os")?;
        if let Some(register) = os.getattr_opt("register_at_fork")? {
            let arguments = pyo3::types::PyDict::new(module.py());
            arguments.set_item("after_in_child", module.getattr("_forked")?)?;
            register.call((), Some(&arguments))?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
