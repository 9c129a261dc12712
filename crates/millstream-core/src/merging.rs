//! Merging: models of parts of a stream become one model.
//!
//! A component declares how exactly it can be merged (`Merge` in its `Declaration`), and implements `Part::merge_state`,
//! which receives a `Merger`: the saved states of the other model and, if both continued a common model, of that base.
//! The exactness of a model is the weakest of its components.
//!
//! With a base, what both models have in common counts once: result = base + (ours − base) + (theirs − base). A state that
//! is a sum thus adds the other state and subtracts that of the base. Without a base, models started unlearned.

use serde_json::Value as Json;

use crate::fault::{Fault, Result};
use crate::parameter::Parameter;
use crate::registry;
use crate::schema::Schema;

/// How the result of a merge relates to a model that learned the whole stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exactness {
    /// Equal up to rounding, whatever the parts and their order.
    Exact,
    /// Within the error bound that the component guarantees for a whole stream.
    Bounded,
    /// By a rule of combination, without a guarantee.
    Approximate,
    /// Refused.
    None,
}

impl Exactness {
    pub fn word(self) -> &'static str {
        match self {
            Exactness::Exact => "exact",
            Exactness::Bounded => "bounded",
            Exactness::Approximate => "approximate",
            Exactness::None => "none",
        }
    }
}

/// The merging of a component, as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Merge {
    pub exactness: Exactness,
    /// The bound, the rule, or the reason against it and what to do instead.
    pub words: &'static str,
    /// Whether its output depends on learned rows, so that later components of a pipeline depend on it.
    pub learns: bool,
    /// The merging with parameters for which it differs from the declared one.
    other: Option<fn(&Json) -> Option<Merge>>,
}

pub const BY_COUNT: &str = "mean of the weights by number of examples";
pub const BY_CURVATURE: &str = "mean of the weights by accumulated curvature, which adds up";
pub const BY_PRECISION: &str = "mean of the weights by precision, which adds up";
pub const BY_OPTIMIZER: &str = "by the rule of its optimizer";

const LEARNING_STEP: &str = "step by step: each model transformed its rows by what it alone had learned";

impl Merge {
    pub const EXACT: Merge = Merge { exactness: Exactness::Exact, words: "", learns: true, other: None };
    /// Nothing is learned except for the names of features.
    pub const STATELESS: Merge = Merge { words: "nothing is learned", learns: false, ..Merge::EXACT };
    /// Of a wrapper: as its components.
    pub const COMPONENTS: Merge = Merge { words: "as its components", learns: false, ..Merge::EXACT };
    /// Of optimisers, losses and others that are parts of a model without a state of their own.
    pub const SETTING: Merge = Merge { words: "a setting of a model, without a state", ..Merge::STATELESS };
    pub const GENERATOR: Merge = Merge::none("a stream is generated, not learned: use different seeds");
    pub const DETECTOR: Merge = Merge::none(
        "it depends on the order of values: run one detector on the ordered stream, or one for each part",
    );
    pub const ORDER: Merge =
        Merge::none("it depends on the order of rows: learn the ordered stream with one model");
    pub const TREE: Merge = Merge::none(
        "trees of different shape have no common leaves: train an ensemble by member instead, each member on all rows",
    );
    pub const ENSEMBLE: Merge = Merge::none(
        "its members depend on each other or on the order of rows: train members separately and combine them by \
         ensemble.Voting",
    );
    pub const EXEMPLARS: Merge = Merge::none(
        "it stores examples chosen in the order of the stream: combine the predictions of separate models by \
         ensemble.Voting",
    );

    pub const FULL_VECTOR: Merge = Merge::none(
        "its steps depend on all earlier gradients of the stream: use optim.AdaGrad, whose models can be merged",
    );

    pub const fn exact(words: &'static str) -> Merge {
        Merge { words, ..Merge::EXACT }
    }

    pub const fn bounded(words: &'static str) -> Merge {
        Merge { exactness: Exactness::Bounded, words, ..Merge::EXACT }
    }

    pub const fn approximate(words: &'static str) -> Merge {
        Merge { exactness: Exactness::Approximate, words, ..Merge::EXACT }
    }

    pub const fn none(words: &'static str) -> Merge {
        Merge { exactness: Exactness::None, words, ..Merge::EXACT }
    }

    /// The same, except for parameters for which `other` returns a merging.
    pub const fn or(self, other: fn(&Json) -> Option<Merge>) -> Merge {
        Merge { other: Some(other), ..self }
    }

    /// With default parameters: what lists show.
    pub fn with_defaults(self, parameters: &[Parameter]) -> Merge {
        let parameters =
            parameters.iter().map(|parameter| (parameter.name.to_string(), parameter.default.value()));
        self.with(&Json::Object(parameters.collect()))
    }

    /// With a canonical set of parameters.
    fn with(self, parameters: &Json) -> Merge {
        self.other.and_then(|other| other(parameters)).unwrap_or(self)
    }
}

/// For windows of rows: the order of two parts is not known.
pub fn unless_windowed(parameters: &Json) -> Option<Merge> {
    (!parameters["window_size"].is_null())
        .then(|| Merge::none("a window depends on the order of rows: use window_size=None"))
}

/// Refused if examples are forgotten.
pub fn unless_forgetting(parameters: &Json) -> Option<Merge> {
    (parameters["forgetting"].as_f64() < Some(1.0))
        .then(|| Merge::none("the weight of an example depends on the examples after it: use forgetting=1"))
}

/// Refused if the first value of a feature has no column.
pub fn unless_drop_first(parameters: &Json) -> Option<Merge> {
    (parameters["drop_first"] == true)
        .then(|| Merge::none("the dropped value is the first one that came: use drop_first=False"))
}

/// Refused if the previous value is imputed.
pub fn unless_previous(parameters: &Json) -> Option<Merge> {
    let previous = ["strategy", "nominal_strategy"].iter().any(|name| parameters[*name] == "previous");
    previous
        .then(|| Merge::none("the previous value depends on the order of rows: use \"mean\" or \"most_frequent\""))
}

pub fn unless_conservative(parameters: &Json) -> Option<Merge> {
    (parameters["conservative"] == true)
        .then(|| Merge::none("conservative counters depend on the order of keys: use conservative=False"))
}

pub fn unless_by_time(parameters: &Json) -> Option<Merge> {
    (parameters["by_time"] == false)
        .then(|| Merge::none("the order of the rows of two samples is not known without times: use by_time=True"))
}

pub fn unless_first_values(parameters: &Json) -> Option<Merge> {
    (parameters["k"] != -1).then(|| Merge::none("only the first k values are counted: use k=-1"))
}

pub fn unless_fading(parameters: &Json) -> Option<Merge> {
    (parameters["fading_factor"].as_f64() < Some(1.0))
        .then(|| Merge::none("the weight of a value depends on the values after it: use fading_factor=1"))
}

/// The merging of a whole description: the weakest of its components. Returns the component that it is due to.
pub fn of_description(description: &Json) -> (String, Merge) {
    let name = description["name"].as_str().unwrap_or_default();
    let parameters = &description["parameters"];
    let Ok(declared) = registry::find(name) else {
        return (name.into(), Merge::none("it is not a native component"));
    };
    let mut weakest = (name.to_string(), declared.merge.with(parameters));
    let mut learns = weakest.1.learns;
    let steps = parameters["steps"].as_array();
    each_component(parameters, &mut |component| {
        let (who, merge) = of_description(component);
        // A step after one that learns.
        let follows = steps.is_some() && learns && name == "compose.Pipeline";
        if follows
            && (merge.learns || merge.exactness > Exactness::Exact)
            && weakest.1.exactness < Exactness::Approximate
        {
            weakest = (name.into(), Merge::approximate(LEARNING_STEP));
        }
        if merge.exactness > weakest.1.exactness {
            weakest = (who, merge);
        }
        learns |= merge.learns;
    });
    weakest.1.learns = learns;
    weakest
}

/// Visit the descriptions of components among parameters.
fn each_component(value: &Json, visit: &mut impl FnMut(&Json)) {
    match value {
        Json::Object(fields)
            if fields.get("name").is_some_and(Json::is_string) && fields.contains_key("parameters") =>
        {
            visit(value)
        }
        Json::Object(fields) => fields.values().for_each(|value| each_component(value, visit)),
        Json::Array(values) => values.iter().for_each(|value| each_component(value, visit)),
        _ => {}
    }
}

/// Count, mean and Σ (x − mean)² of two parts, as by Chan, Golub and LeVeque (1983); with sign -1 the second part is
/// removed from the first, and rounding cannot leave less than nothing.
pub fn combined_moments(ours: (f64, f64, f64), theirs: (f64, f64, f64), sign: f64) -> (f64, f64, f64) {
    let ((n, mean, squares), (m, other_mean, other_squares)) = (ours, theirs);
    if m <= 0.0 {
        return ours;
    }
    if n <= 0.0 {
        return if sign > 0.0 { theirs } else { (0.0, 0.0, 0.0) };
    }
    let m = sign * m;
    let all = n + m;
    if all <= 0.0 {
        return (0.0, 0.0, 0.0);
    }
    let delta = other_mean - mean;
    let between = delta * (n * (m / all)) * delta;
    (all, mean + delta * (m / all), (squares + sign * other_squares + between).max(0.0))
}

/// The fault where a base cannot be counted once.
pub fn not_subtractable() -> Fault {
    Fault::value("cannot be merged with a base, which cannot be subtracted: merge parts that started unlearned")
}

/// The state of one of the models.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// As `Part::save` returned it.
    pub state: &'a [u8],
    /// Its features.
    pub schema: &'a Schema,
    /// Our codes of its classes; `u32::MAX` for a code without a label.
    pub codes: &'a [u32],
    /// Number of examples.
    pub count: f64,
}

/// What a component merges.
#[derive(Clone, Copy)]
pub struct Merger<'a> {
    pub other: Side<'a>,
    /// The model that both continued.
    pub base: Option<Side<'a>>,
    /// Our features, which include those of the others.
    pub ours: &'a Schema,
    /// Our number of examples.
    pub count: f64,
}

impl<'a> Merger<'a> {
    /// The states to add, with a sign: plus for the other model, minus for the base.
    pub fn sides(&self) -> impl Iterator<Item = (Side<'a>, f64)> {
        [(Some(self.other), 1.0), (self.base, -1.0)].into_iter().filter_map(|(side, sign)| Some((side?, sign)))
    }

    /// The other side, where nothing can be subtracted.
    pub fn without_base(&self) -> Result<Side<'a>> {
        match self.base {
            None => Ok(self.other),
            Some(_) => Err(not_subtractable()),
        }
    }

    /// Our part of the examples that are not of the base, for means by count; both halves if there are none.
    pub fn our_fraction(&self) -> f64 {
        let base = self.base.map_or(0.0, |base| base.count);
        let (ours, theirs) = ((self.count - base).max(0.0), (self.other.count - base).max(0.0));
        if ours + theirs > 0.0 {
            ours / (ours + theirs)
        } else {
            0.5
        }
    }

    /// The merger of a component, whose states are in those of the whole.
    pub fn inner<'b>(&self, other: &'b [u8], base: Option<&'b [u8]>) -> Merger<'b>
    where
        'a: 'b,
    {
        Merger {
            other: Side { state: other, ..self.other },
            base: self.base.zip(base).map(|(side, state)| Side { state, ..side }),
            ..*self
        }
    }
}

impl<'a> Merger<'a> {
    /// The same with other names: those of the features that a component receives.
    pub fn named<'b>(&self, theirs: &'b Schema, base: Option<&'b Schema>, ours: &'b Schema) -> Merger<'b>
    where
        'a: 'b,
    {
        Merger {
            other: Side { schema: theirs, ..self.other },
            base: self.base.zip(base).map(|(side, schema)| Side { schema, ..side }),
            ours,
            ..*self
        }
    }
}

impl<'a> Side<'a> {
    /// Whether its features and their nominal values came in the same order as ours.
    pub fn is_ordered_as(&self, ours: &Schema) -> bool {
        let values = |schema: &Schema, slot: usize| -> Vec<String> {
            let values = schema.values(slot);
            (0..values.len() as u32).filter_map(|code| values.text(code).map(str::to_string)).collect()
        };
        self.schema.names().eq(ours.names().take(self.schema.len()))
            && (0..self.schema.len()).all(|slot| {
                let (theirs, ours) = (values(self.schema, slot), values(ours, slot));
                ours.starts_with(&theirs)
            })
    }

    /// Whether its two classes have the opposite codes here.
    pub fn flips_classes(&self) -> bool {
        self.codes.first() == Some(&1) || self.codes.get(1) == Some(&0)
    }

    /// Our slot of each of its features, in order.
    pub fn slots(&self, ours: &Schema) -> Vec<usize> {
        let slot = |name| ours.slot(&name).map_or(usize::MAX, |slot| slot as usize);
        self.schema.names().map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exactness(description: Json) -> (String, &'static str) {
        let (who, merge) = of_description(&registry::resolve(&description).expect("declared"));
        (who, merge.exactness.word())
    }

    #[test]
    fn a_model_is_as_exact_as_its_weakest_component() {
        let step = |name: &str| json!({ "name": name });
        let pipeline = |steps: Vec<Json>| json!({ "name": "compose.Pipeline", "parameters": { "steps": steps } });
        let exact = step("linear_model.RLS");
        assert_eq!(exactness(exact.clone()).1, "exact");
        let forgetful = json!({ "name": "linear_model.RLS", "parameters": { "forgetting": 0.9 } });
        assert_eq!(exactness(forgetful).1, "none");
        let stateless = pipeline(vec![step("preprocessing.Normalizer"), exact.clone()]);
        assert_eq!(exactness(stateless).1, "exact");
        // Both steps are exact, but the rows of the second depend on what the first had learned.
        let scaled = pipeline(vec![step("preprocessing.StandardScaler"), exact]);
        assert_eq!(exactness(scaled), ("compose.Pipeline".into(), "approximate"));
        let tree = pipeline(vec![step("preprocessing.StandardScaler"), step("tree.HoeffdingTreeClassifier")]);
        assert_eq!(exactness(tree), ("tree.HoeffdingTreeClassifier".into(), "none"));
    }
}
