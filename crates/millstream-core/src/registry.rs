//! The list of all components.
//!
//! The builder, validation, `millstream.find`, the command line, the documentation, the laws and the benchmarks walk
//! this list. To add a component, write its file with a `DECLARATION` and add it to `DECLARATIONS`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{json, Map, Value};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::parameter::{self, Arguments, Default, Kind};
use crate::{
    anomaly, art, bandit, baseline, basis, cluster, compose, continual, covariance, decomposition, drift,
    ensemble, feature_extraction, feature_selection, forest, htm, kernel, linear_model, losses, metrics,
    multiclass, naive_bayes, neighbors, neural_network, optim, policy_evaluation, preprocessing, prototype,
    sampling, sketch, stats, synth, time_series, tree,
};

pub static DECLARATIONS: &[&Declaration] = &[
    &anomaly::gaussian_scorer::DECLARATION,
    &anomaly::half_space_trees::DECLARATION,
    &anomaly::quantile_filter::DECLARATION,
    &anomaly::threshold_filter::DECLARATION,
    &art::fuzzy_art::DECLARATION,
    &art::fuzzy_artmap::DECLARATION,
    &bandit::bayes_ucb::DECLARATION,
    &bandit::discounted_ucb::DECLARATION,
    &bandit::epsilon_greedy::DECLARATION,
    &bandit::exp3::DECLARATION,
    &bandit::exp3_ix::DECLARATION,
    &bandit::gradient_bandit::DECLARATION,
    &bandit::kl_ucb::DECLARATION,
    &bandit::restart::DECLARATION,
    &bandit::sliding_window_ucb::DECLARATION,
    &bandit::thompson::DECLARATION,
    &bandit::tsallis_inf::DECLARATION,
    &bandit::ucb1::DECLARATION,
    &bandit::contextual::CONTEXTUAL,
    &bandit::contextual::LIN_THOMPSON,
    &bandit::contextual::LIN_UCB,
    &bandit::contextual::explore::BAG,
    &bandit::contextual::explore::COVER,
    &bandit::contextual::explore::EPSILON_GREEDY,
    &bandit::contextual::explore::GREEDY,
    &bandit::contextual::explore::REG_CB,
    &bandit::contextual::explore::SOFTMAX,
    &bandit::contextual::explore::SQUARE_CB,
    &baseline::majority_class::DECLARATION,
    &baseline::no_change::DECLARATION,
    &baseline::prior::DECLARATION,
    &baseline::target_mean::DECLARATION,
    &basis::bspline::DECLARATION,
    &basis::chebyshev::DECLARATION,
    &basis::fourier::DECLARATION,
    &basis::gaussian::DECLARATION,
    &basis::grid::DECLARATION,
    &basis::legendre_polynomials::DECLARATION,
    &basis::polynomial::DECLARATION,
    &cluster::k_means::DECLARATION,
    &cluster::mini_batch_k_means::DECLARATION,
    &compose::interact::DECLARATION,
    &compose::pipeline::DECLARATION,
    &compose::selection::DROP,
    &compose::selection::SELECT,
    &compose::target_transform::DECLARATION,
    &compose::union::DECLARATION,
    &continual::a_gem::DECLARATION,
    &continual::buffer::CLASS_BALANCED,
    &continual::buffer::RESERVOIR,
    &continual::der_plus_plus::DECLARATION,
    &continual::ewc::DECLARATION,
    &continual::gdumb::DECLARATION,
    &continual::lwf::DECLARATION,
    &continual::nearest_class_mean::DECLARATION,
    &continual::replay::DECLARATION,
    &continual::si::DECLARATION,
    &continual::streaming_lda::DECLARATION,
    &covariance::EMPIRICAL_COVARIANCE,
    &covariance::EMPIRICAL_PRECISION,
    &covariance::EWA_COVARIANCE,
    &covariance::EWA_PRECISION,
    &covariance::LEDOIT_WOLF,
    &covariance::OAS,
    &covariance::SHRUNK_COVARIANCE,
    &decomposition::ccipca::DECLARATION,
    &decomposition::dictionary_learning::DECLARATION,
    &decomposition::frequent_directions::DECLARATION,
    &decomposition::incremental_pca::DECLARATION,
    &decomposition::incremental_svd::DECLARATION,
    &decomposition::lda::DECLARATION,
    &decomposition::nmf::DECLARATION,
    &decomposition::pca::DECLARATION,
    &drift::ADWIN,
    &drift::CHI_SQUARE_TEST,
    &drift::CLUSTER_DRIFT,
    &drift::CUSUM,
    &drift::D3,
    &drift::DDM,
    &drift::EDDM,
    &drift::EWMA_CHART,
    &drift::FHDDM,
    &drift::HDDM_A,
    &drift::HDDM_W,
    &drift::HELLINGER_DISTANCE,
    &drift::KSWIN,
    &drift::KS_TEST,
    &drift::OCDD,
    &drift::PSI,
    &drift::PAGE_HINKLEY,
    &ensemble::adaboost::DECLARATION,
    &ensemble::leveraging_bagging::ADWIN_BAGGING,
    &ensemble::bagging::BAGGING,
    &ensemble::bagging::BAGGING_REGRESSOR,
    &ensemble::leveraging_bagging::LEVERAGING_BAGGING,
    &ensemble::srp::CLASSIFIER_PATCHES,
    &ensemble::srp::REGRESSOR_PATCHES,
    &ensemble::stacking::STACKING,
    &ensemble::stacking::STACKING_REGRESSOR,
    &ensemble::voting::VOTING,
    &ensemble::voting::VOTING_REGRESSOR,
    &ensemble::voting::WEIGHTED_MAJORITY,
    &feature_extraction::aggregate::AGG,
    &feature_extraction::aggregate::TARGET_AGG,
    &feature_extraction::polynomial_extender::DECLARATION,
    &feature_selection::poisson_inclusion::DECLARATION,
    &feature_selection::select_k_best::DECLARATION,
    &feature_selection::variance_threshold::DECLARATION,
    &forest::arf_classifier::DECLARATION,
    &forest::arf_regressor::DECLARATION,
    &htm::anomaly_likelihood::DECLARATION,
    &htm::category_encoder::DECLARATION,
    &htm::date_encoder::DECLARATION,
    &htm::htm_anomaly::DECLARATION,
    &htm::scalar_encoder::DECLARATION,
    &htm::spatial_pooler::DECLARATION,
    &htm::temporal_memory::DECLARATION,
    &kernel::kernel_rls::DECLARATION,
    &kernel::kernel_sgd::CLASSIFIER,
    &kernel::kernel_sgd::REGRESSOR,
    &kernel::nystroem::DECLARATION,
    &kernel::random_fourier_features::DECLARATION,
    &kernel::LAPLACE,
    &kernel::LINEAR,
    &kernel::POLYNOMIAL,
    &kernel::RBF,
    &kernel::SIGMOID,
    &kernel::STRING,
    &drift::RDDM,
    &drift::RETRAIN,
    &drift::STEPD,
    &linear_model::alma::DECLARATION,
    &linear_model::arow::CLASSIFIER,
    &linear_model::arow::REGRESSOR,
    &linear_model::bayesian_linear_regression::DECLARATION,
    &linear_model::confidence_weighted::CW,
    &linear_model::confidence_weighted::SCW,
    &linear_model::ellipsoid::DECLARATION,
    &linear_model::gaussian_herding::DECLARATION,
    &linear_model::irma::DECLARATION,
    &linear_model::irma_classifier::DECLARATION,
    &linear_model::least_squares::DECLARATION,
    &linear_model::linear_regression::DECLARATION,
    &linear_model::lms::DECLARATION,
    &linear_model::logistic_regression::DECLARATION,
    &linear_model::passive_aggressive::CLASSIFIER,
    &linear_model::passive_aggressive::REGRESSOR,
    &linear_model::perceptron::DECLARATION,
    &linear_model::ridge_classifier::DECLARATION,
    &linear_model::rls::DECLARATION,
    &linear_model::romma::DECLARATION,
    &linear_model::softmax_regression::DECLARATION,
    &linear_model::svm::DECLARATION,
    &losses::ABSOLUTE,
    &losses::EPSILON_INSENSITIVE,
    &losses::EXPECTILE,
    &losses::FOCAL,
    &losses::FOCAL_STAR,
    &losses::HINGE,
    &losses::HUBER,
    &losses::LOGISTIC,
    &losses::MODIFIED_HUBER,
    &losses::POISSON,
    &losses::QUANTILE,
    &losses::SQUARED,
    &losses::SQUARED_HINGE,
    &metrics::ACCURACY,
    &metrics::ADJUSTED_RAND,
    &metrics::BALANCED_ACCURACY,
    &metrics::BRIER,
    &metrics::COHEN_KAPPA,
    &metrics::COMPLETENESS,
    &metrics::CONFUSION_MATRIX,
    &metrics::F1,
    &metrics::FADING,
    &metrics::FBETA,
    &metrics::FOWLKES_MALLOWS,
    &metrics::HOMOGENEITY,
    &metrics::KAPPA_M,
    &metrics::KAPPA_TEMPORAL,
    &metrics::LOG_LOSS,
    &metrics::MACRO_F1,
    &metrics::MACRO_FBETA,
    &metrics::MACRO_PRECISION,
    &metrics::MACRO_RECALL,
    &metrics::MAE,
    &metrics::MAPE,
    &metrics::MICRO_F1,
    &metrics::MICRO_FBETA,
    &metrics::MICRO_PRECISION,
    &metrics::MICRO_RECALL,
    &metrics::MSE,
    &metrics::NORMALIZED_MUTUAL_INFO,
    &metrics::PRAUC,
    &metrics::PRECISION,
    &metrics::R2,
    &metrics::RAND,
    &metrics::RECALL,
    &metrics::RMSE,
    &metrics::ROCAUC,
    &metrics::ROLLING,
    &metrics::SILHOUETTE,
    &metrics::SMAPE,
    &metrics::V_MEASURE,
    &metrics::WEIGHTED_F1,
    &metrics::WEIGHTED_FBETA,
    &metrics::WEIGHTED_PRECISION,
    &metrics::WEIGHTED_RECALL,
    &multiclass::one_vs_rest::DECLARATION,
    &naive_bayes::bernoulli_nb::DECLARATION,
    &naive_bayes::categorical_nb::DECLARATION,
    &naive_bayes::complement_nb::DECLARATION,
    &naive_bayes::gaussian_nb::DECLARATION,
    &naive_bayes::multinomial_nb::DECLARATION,
    &neighbors::hnsw::DECLARATION,
    &neighbors::knn::CLASSIFIER,
    &neighbors::knn::REGRESSOR,
    &neighbors::sam_knn::DECLARATION,
    &neural_network::echo_state::DECLARATION,
    &neural_network::irma_regressor::DECLARATION,
    &neural_network::mlp_classifier::DECLARATION,
    &neural_network::mlp_regressor::DECLARATION,
    &neural_network::oselm::DECLARATION,
    &optim::ADAM,
    &optim::ADAPTIVE,
    &optim::ADA_DELTA,
    &optim::ADA_GRAD,
    &optim::COIN_BETTING,
    &optim::CONSTANT,
    &optim::FTRL_PROXIMAL,
    &optim::INVERSE_SCALING,
    &optim::INVERSE_SQUARE_ROOT,
    &optim::MOMENTUM,
    &optim::NESTEROV,
    &optim::ONLINE_NEWTON_STEP,
    &optim::OPTIMAL,
    &optim::RMS_PROP,
    &optim::SGD,
    &policy_evaluation::estimator::DIFFERENCE,
    &policy_evaluation::estimator::DM,
    &policy_evaluation::estimator::DR,
    &policy_evaluation::estimator::DR_OS,
    &policy_evaluation::estimator::IPS,
    &policy_evaluation::estimator::REPLAY,
    &policy_evaluation::estimator::SNDR,
    &policy_evaluation::estimator::SNIPS,
    &policy_evaluation::estimator::SWITCH_DR,
    &preprocessing::adaptive_standard_scaler::DECLARATION,
    &preprocessing::binarizer::DECLARATION,
    &preprocessing::count_encoder::DECLARATION,
    &preprocessing::feature_hasher::DECLARATION,
    &preprocessing::imputer::DECLARATION,
    &preprocessing::max_abs_scaler::DECLARATION,
    &preprocessing::min_max_scaler::DECLARATION,
    &preprocessing::normalizer::DECLARATION,
    &preprocessing::one_hot_encoder::DECLARATION,
    &preprocessing::ordinal_encoder::DECLARATION,
    &preprocessing::pred_clipper::DECLARATION,
    &preprocessing::imputer::PREVIOUS,
    &preprocessing::quantile_transformer::DECLARATION,
    &preprocessing::random_projection::GAUSSIAN,
    &preprocessing::random_projection::SPARSE,
    &preprocessing::robust_scaler::DECLARATION,
    &preprocessing::standard_scaler::DECLARATION,
    &preprocessing::target_encoder::DECLARATION,
    &preprocessing::target_min_max_scaler::DECLARATION,
    &preprocessing::target_standard_scaler::DECLARATION,
    &prototype::glvq::DECLARATION,
    &prototype::gmlvq::DECLARATION,
    &prototype::lvq1::DECLARATION,
    &prototype::lvq21::DECLARATION,
    &prototype::lvq3::DECLARATION,
    &prototype::rslvq::DECLARATION,
    &sampling::by_key::DECLARATION,
    &sampling::decayed_reservoir::DECLARATION,
    &sampling::reservoir::DECLARATION,
    &sampling::stratified::DECLARATION,
    &sampling::weighted_reservoir::DECLARATION,
    &sampling::window_sample::DECLARATION,
    &sketch::bloom::DECLARATION,
    &sketch::count_min::DECLARATION,
    &sketch::count_sketch::DECLARATION,
    &sketch::dd_sketch::DECLARATION,
    &sketch::histogram::DECLARATION,
    &sketch::hyper_log_log::DECLARATION,
    &sketch::quantile_sketch::DECLARATION,
    &sketch::space_saving::DECLARATION,
    &sketch::theta::DECLARATION,
    &stats::ABS_MAX,
    &stats::AUTO_CORR,
    &stats::BAYESIAN_MEAN,
    &stats::CHI_SQUARED,
    &stats::COUNT,
    &stats::COV,
    &stats::ENTROPY,
    &stats::EW_COV,
    &stats::EW_MEAN,
    &stats::EW_VAR,
    &stats::IQR,
    &stats::KOLMOGOROV_SMIRNOV,
    &stats::KURTOSIS,
    &stats::LINK,
    &stats::MAD,
    &stats::MAX,
    &stats::MEAN,
    &stats::MIN,
    &stats::MODE,
    &stats::PEAK_TO_PEAK,
    &stats::PEARSON_CORR,
    &stats::QUANTILE,
    &stats::ROLLING,
    &stats::SEM,
    &stats::SHIFT,
    &stats::SKEW,
    &stats::SUM,
    &stats::TIME_ROLLING,
    &stats::VAR,
    &synth::agrawal::DECLARATION,
    &synth::drift::DECLARATION,
    &synth::friedman::DECLARATION,
    &synth::hyperplane::DECLARATION,
    &synth::imbalance::DECLARATION,
    &synth::label_noise::DECLARATION,
    &synth::led::DECLARATION,
    &synth::missing::DECLARATION,
    &synth::mixed::DECLARATION,
    &synth::planes_2d::DECLARATION,
    &synth::random_rbf::DECLARATION,
    &synth::random_tree::DECLARATION,
    &synth::sea::DECLARATION,
    &synth::sine::DECLARATION,
    &synth::stagger::DECLARATION,
    &synth::waveform::DECLARATION,
    &time_series::holt_winters::DECLARATION,
    &time_series::seasonal_naive::DECLARATION,
    &tree::extremely_fast_decision_tree_classifier::DECLARATION,
    &tree::hoeffding_adaptive_tree_classifier::DECLARATION,
    &tree::hoeffding_adaptive_tree_regressor::DECLARATION,
    &tree::hoeffding_tree_classifier::DECLARATION,
    &tree::hoeffding_tree_regressor::DECLARATION,
];

pub fn find(name: &str) -> Result<&'static Declaration> {
    static BY_NAME: LazyLock<HashMap<&str, &Declaration>> =
        LazyLock::new(|| DECLARATIONS.iter().map(|&declaration| (declaration.name, declaration)).collect());
    BY_NAME.get(name).copied().ok_or_else(|| {
        let hint = nearest(name, DECLARATIONS.iter().map(|declaration| declaration.name))
            .map(|near| format!(", did you mean '{near}'?"))
            .unwrap_or_default();
        Fault::key(format!("millstream: no component named '{name}'{hint}"))
    })
}

/// The name of the component, of one of these roles, that a plain word denotes: `adaptive` for `optim.Adaptive`.
pub fn worded(word: &str, roles: &[Role]) -> Option<&'static str> {
    let short = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let mut meant = DECLARATIONS
        .iter()
        .filter(|declaration| roles.contains(&declaration.role))
        .map(|declaration| declaration.name)
        .filter(|name| short(name).eq_ignore_ascii_case(word));
    // An ambiguous word denotes none.
    meant.next().filter(|_| meant.next().is_none())
}

/// The complete, canonical description: names checked, defaults filled in, values within bounds.
///
/// The JSON reader limits nesting to 128 levels, so recursion is safe here.
pub fn resolve(description: &Value) -> Result<Value> {
    let object = description.as_object().ok_or_else(|| {
        Fault::value(format!(
            "millstream: a description must be {{\"name\": …, \"parameters\": {{…}}}}, got {}",
            parameter::shown(description)
        ))
    })?;
    let name = object
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| Fault::value("millstream: a description must have a \"name\""))?;
    if let Some(other) = object.keys().find(|key| *key != "name" && *key != "parameters") {
        return Err(Fault::value(format!(
            "{name}: a description must have \"name\" and \"parameters\" only, got \"{other}\""
        )));
    }
    let declaration = find(name)?;
    let none = Map::new();
    let given = match object.get("parameters") {
        None => &none,
        Some(Value::Object(given)) => given,
        Some(other) => {
            return Err(Fault::value(format!(
                "{name}: parameters must be an object, got {}",
                parameter::shown(other)
            )))
        }
    };
    let parameters = parameter::resolve(name, declaration.parameters, given)?;
    // `json!` would copy the parameters.
    let mut resolved = Map::with_capacity(2);
    resolved.insert("name".into(), name.into());
    resolved.insert("parameters".into(), parameters.into());
    Ok(resolved.into())
}

/// The role of a resolved description; a pipeline has that of its last step, other wrappers that of their model.
pub fn role_of(description: &Value) -> Result<Role> {
    let declaration = find(description["name"].as_str().unwrap_or_default())?;
    if declaration.role != Role::Wrapper {
        return Ok(declaration.role);
    }
    let parameters = &description["parameters"];
    let wrapped = match parameters["steps"].as_array() {
        Some(steps) => steps.last(),
        None => Some(&parameters["model"]).filter(|model| model.is_object()),
    };
    match wrapped {
        Some(wrapped) => role_of(wrapped),
        None => Err(Fault::value(format!("{}: needs at least one step", declaration.name))),
    }
}

pub fn build_resolved(description: &Value) -> Result<Built> {
    let declaration = find(description["name"].as_str().unwrap_or_default())?;
    let parameters = description["parameters"]
        .as_object()
        .ok_or_else(|| Fault::value(format!("{}: parameters are missing", declaration.name)))?;
    (declaration.build)(&Arguments::new(declaration.name, parameters))
}

/// The registry as JSON, for Python: names, roles, descriptions, parameters.
pub fn catalogue() -> Value {
    DECLARATIONS
        .iter()
        .map(|declaration| {
            let parameters: Vec<Value> = declaration
                .parameters
                .iter()
                .map(|parameter| {
                    json!({
                        "name": parameter.name,
                        "default": parameter.default.value(),
                        "required": matches!(parameter.default, Default::Required),
                        "must_be": parameter.kind.words(),
                        "bounds": bounds(&parameter.kind),
                        "words": parameter.words,
                        "formerly": parameter.formerly,
                    })
                })
                .collect();
            let merge = declaration.merge.with_defaults(declaration.parameters);
            json!({
                "name": declaration.name,
                "role": declaration.role.word(),
                "words": declaration.words,
                "merge": merge.exactness.word(),
                "merge_words": merge.words,
                "parameters": parameters,
            })
        })
        .collect()
}

/// The former name of each renamed parameter of a component, and its present name.
pub fn former_names(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> + use<'_> {
    let declared = DECLARATIONS.iter().filter(move |declaration| declaration.name == name);
    let parameters = declared.flat_map(|declaration| declaration.parameters);
    parameters.flat_map(|parameter| parameter.formerly.iter().map(|former| (*former, parameter.name)))
}

/// `[low, low included, high, high included]` of a number; null for other kinds and for no bound.
fn bounds(kind: &Kind) -> Value {
    let finite = |x: f64| if x.is_finite() { Value::from(x) } else { Value::Null };
    match kind {
        Kind::Float(b) | Kind::Rate(b) => json!([finite(b.low), b.low_included, finite(b.high), b.high_included]),
        Kind::Integer { low, high } => json!([
            if *low == i64::MIN { Value::Null } else { (*low).into() },
            true,
            if *high == i64::MAX { Value::Null } else { (*high).into() },
            true
        ]),
        Kind::Optional(kind) => bounds(kind),
        _ => Value::Null,
    }
}

/// The known name most similar to a mistyped one, if any is similar enough.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .map(|name| {
            let lower = name.to_lowercase();
            let short = lower.rsplit('.').next().unwrap_or(&lower);
            (edits(&given, &lower).min(edits(&given, short)), name)
        })
        .filter(|(distance, _)| *distance <= 1 + given.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
