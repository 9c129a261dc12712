//! What all forms of learning vector quantization have in common: prototypes from the first rows of each class, and the
//! class of the nearest prototype as the prediction. They differ in how a row moves the prototypes (`Rule`).
//!
//! A row of a class with fewer than `n_prototypes` prototypes becomes a prototype, unless one of its class is there already.
//! So classes may appear at any time. Once there are `max_prototypes`, no more are added; a row of a class without any is
//! counted and not learned, because it could only push prototypes of other classes away.
//!
//! Distances are squared and Euclidean unless a rule has others, and partial where values are missing (`cluster`).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::cluster::centres::Centres;
use crate::cluster::coordinate_rows::write_row;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::linear_model::{named, Coordinates};
use crate::numeric::magnitude::{are_within, check_row, check_weight};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::prototype::reaction::Reaction;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

/// Rows with larger numbers or weights are refused, and prototypes stay within this: all distances are finite.
pub use crate::numeric::magnitude::LARGEST;
/// The largest number of coordinates of all prototypes.
const MOST_NUMBERS: usize = 1 << 24;
/// The largest number of classes of a saved state.
pub const MOST_CLASSES: u32 = 1 << 20;

pub const N_PROTOTYPES: Parameter = Parameter::new(
    "n_prototypes",
    Kind::Integer { low: 1, high: 10_000 },
    DefaultValue::Integer(3),
    "number of prototypes of each class",
);
pub const MAX_PROTOTYPES: Parameter = Parameter::new(
    "max_prototypes",
    Kind::Integer { low: 1, high: 1_000_000 },
    DefaultValue::Integer(1000),
    "largest number of prototypes of all classes",
);
pub const LEARNING_RATE: Parameter = Parameter::new(
    "learning_rate",
    Kind::Float(Bounds::FRACTION),
    DefaultValue::Float(0.05),
    "fraction of the way that a prototype moves to its row, or away from it",
);
/// Of rules that follow a gradient.
pub const STEP_SIZE: Parameter = Parameter::new(
    "learning_rate",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(0.1),
    "factor of the gradient; a step is at most the distance between prototype and row",
);

/// A prototype and its distance to a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    pub prototype: usize,
    pub distance: f64,
}

/// A row by coordinates with what a rule needs to learn it.
pub struct Example<'a> {
    pub x: &'a [f64],
    /// Whether no value is missing.
    pub complete: bool,
    pub class: u32,
    pub w: f64,
    /// By prototype.
    pub distances: &'a [f64],
    /// The nearest prototype of the class.
    pub own: Neighbour,
    /// The nearest prototype of another class.
    pub other: Option<Neighbour>,
}

/// How a row moves the prototypes.
pub trait Rule: Clone + Send + Sync + 'static {
    type State: Serialize + DeserializeOwned;
    const NAME: &'static str;

    /// The distances of a row to all prototypes; infinite if they share no coordinate.
    #[inline]
    fn distances(&self, prototypes: &Centres, x: &[f64], complete: bool, out: &mut Vec<f64>, _: &mut Scratch) {
        prototypes.distances(x, complete, out);
    }

    fn learn(&mut self, prototypes: &mut Centres, classes: &[u32], example: Example<'_>, scratch: &mut Scratch);

    /// Predict from the distances, at least one of which is finite.
    #[inline]
    fn predict(&self, distances: &[f64], classes: &[u32], codes: usize, want: Want, out: &mut ClassPrediction) {
        relative_prediction(distances, classes, codes, want, out);
    }

    /// Refuse more coordinates than the rule supports.
    fn check_width(&self, _width: usize) -> Result<()> {
        Ok(())
    }

    /// Adapt to the coordinates, of which there may be new ones.
    fn widen(&mut self, _coordinates: &Coordinates) {}

    fn save(&self) -> Self::State;
    /// False if the state does not fit rows of this width.
    fn load(&mut self, state: Self::State, width: usize) -> bool;

    fn memory(&self) -> usize {
        0
    }

    /// Add to the description of the model.
    fn inspect(&self, _found: &mut serde_json::Map<String, serde_json::Value>, _: &Coordinates, _: &Schema) {}
}

/// The nearest prototype decides, the lowest class among equals. The probability of a class is proportional to 1/d for the
/// distance d of its nearest prototype. Of two classes at distances d₁ and d₂, the first has the probability
/// d₂ / (d₁ + d₂) = (1 − μ) / 2 with the relative distance μ that GLVQ minimises.
#[inline]
fn relative_prediction(distances: &[f64], classes: &[u32], codes: usize, want: Want, out: &mut ClassPrediction) {
    let (mut nearest, mut best) = (f64::INFINITY, u32::MAX);
    for (&distance, &class) in distances.iter().zip(classes) {
        let closer = distance < nearest || (distance == nearest && class < best);
        nearest = if closer { distance } else { nearest };
        best = if closer { class } else { best };
    }
    out.class = Some(best);
    if want == Want::Probabilities {
        out.probabilities.resize(codes, 0.0);
        for (&distance, &class) in distances.iter().zip(classes) {
            let least = &mut out.probabilities[class as usize];
            // Relative to the nearest, so that the quotient neither overflows nor becomes 0/0.
            let closeness = if distance == nearest { 1.0 } else { nearest / distance };
            *least = least.max(closeness);
        }
        normalise(&mut out.probabilities);
    }
}

/// Divide by the sum, which is positive.
pub fn normalise(probabilities: &mut [f64]) {
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|probability| *probability /= sum);
}

#[derive(Clone)]
pub struct PrototypeClassifier<R: Rule> {
    n_prototypes: usize,
    max_prototypes: usize,
    coordinates: Coordinates,
    prototypes: Centres,
    /// By prototype.
    classes: Vec<u32>,
    /// One more than the highest class.
    codes: usize,
    /// Rows of classes for which there was no prototype left.
    skipped: u64,
    reaction: Option<Reaction>,
    rule: R,
}

#[derive(Serialize, Deserialize)]
struct State<S> {
    coordinates: Coordinates,
    prototypes: Vec<Vec<f64>>,
    classes: Vec<u32>,
    weights: Vec<f64>,
    skipped: u64,
    detectors: Vec<Option<ByteBuf>>,
    drifts: u64,
    rule: S,
}

impl<R: Rule> PrototypeClassifier<R> {
    pub fn new(arguments: &Arguments<'_>, rule: R, reaction: Option<Reaction>) -> Result<Self> {
        Ok(PrototypeClassifier {
            n_prototypes: arguments.size("n_prototypes")?,
            max_prototypes: arguments.size("max_prototypes")?,
            coordinates: Coordinates::default(),
            prototypes: Centres::default(),
            classes: Vec::new(),
            codes: 0,
            skipped: 0,
            reaction,
            rule,
        })
    }

    /// Predict from the distances to all prototypes.
    #[inline]
    fn tell(&self, distances: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        if self.classes.is_empty() {
            return;
        }
        match distances.iter().any(|distance| distance.is_finite()) {
            true => self.rule.predict(distances, &self.classes, self.codes, want, out),
            false => self.tell_by_weight(want, out),
        }
    }

    /// Predict a row that shares no coordinate with any prototype: the class of the largest weight.
    #[cold]
    fn tell_by_weight(&self, want: Want, out: &mut ClassPrediction) {
        out.probabilities.resize(self.codes, 0.0);
        for (&class, &weight) in self.classes.iter().zip(self.prototypes.weights()) {
            out.probabilities[class as usize] += weight;
        }
        normalise(&mut out.probabilities);
        out.decide();
        if want == Want::Class {
            out.probabilities.clear();
        }
    }

    /// Learn a row by coordinates, which has at least one value, with its distances to all prototypes.
    #[inline]
    fn learn_row(
        &mut self,
        x: &[f64],
        complete: bool,
        y: u32,
        w: f64,
        distances: &[f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let far = Neighbour { prototype: usize::MAX, distance: f64::INFINITY };
        let (mut own, mut other, mut count) = (far, far, 0);
        for (prototype, (&distance, &class)) in distances.iter().zip(&self.classes).enumerate() {
            let belongs = class == y;
            count += usize::from(belongs);
            let best = if belongs { &mut own } else { &mut other };
            if distance < best.distance {
                *best = Neighbour { prototype, distance };
            }
        }
        let seeds = count < self.n_prototypes && own.distance > 0.0;
        if (seeds || self.reaction.is_some()) && self.seed(x, y, w, (seeds, count), distances)? {
            return Ok(());
        }
        if own.distance.is_finite() {
            self.prototypes.add_weight(own.prototype, w);
            let other = Some(other).filter(|other| other.distance.is_finite());
            let example = Example { x, complete, class: y, w, distances, own, other };
            self.rule.learn(&mut self.prototypes, &self.classes, example, scratch);
        }
        Ok(())
    }

    /// Pass the error to the class's drift detector, and make the row a prototype if its class has too few or starts again.
    /// True if the row is learned with that.
    #[cold]
    fn seed(
        &mut self,
        x: &[f64],
        y: u32,
        w: f64,
        (mut seeds, mut count): (bool, usize),
        distances: &[f64],
    ) -> Result<bool> {
        let full = self.classes.len() >= self.max_prototypes;
        if full && count == 0 {
            self.skipped = self.skipped.saturating_add(1);
            return Ok(true);
        }
        if seeds && !full {
            self.check_numbers(self.classes.len() + 1, self.coordinates.width())?;
        }
        if self.reaction.is_some() && count > 0 {
            let mut prediction = ClassPrediction::default();
            self.tell(distances, Want::Class, &mut prediction);
            let error = f64::from(u8::from(prediction.class != Some(y)));
            if self.reaction.as_mut().is_some_and(|reaction| reaction.drifts(y, error)) {
                self.restart(y);
                if let Some(confused) = prediction.class.filter(|&class| class != y) {
                    self.restart(confused);
                }
                (seeds, count) = (true, 0);
            }
        }
        if !seeds || (self.classes.len() >= self.max_prototypes && count > 0) {
            return Ok(false);
        }
        self.prototypes.push(x, w);
        self.classes.push(y);
        self.codes = self.codes.max(y as usize + 1);
        self.rule.widen(&self.coordinates);
        Ok(true)
    }

    /// Remove the prototypes of a class and its errors.
    fn restart(&mut self, class: u32) {
        for prototype in (0..self.classes.len()).rev() {
            if self.classes[prototype] == class {
                self.prototypes.remove(prototype);
                self.classes.swap_remove(prototype);
            }
        }
        self.reaction.iter_mut().for_each(|reaction| reaction.forget(class));
    }

    fn check_numbers(&self, prototypes: usize, width: usize) -> Result<()> {
        match prototypes.saturating_mul(width) > MOST_NUMBERS {
            true => Err(Fault::value(format!(
                "{}: supports up to {MOST_NUMBERS} numbers in its prototypes, got {width} features and nominal values \
                 of {prototypes}: use fewer prototypes, or select features",
                R::NAME
            ))),
            false => Ok(()),
        }
    }

    /// Learn a row that is not plain, or that has new coordinates.
    #[cold]
    fn learn_any(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut before = self.coordinates.width();
        if self.coordinates.may_grow(x) {
            before = self.coordinates.grow(x);
            let width = self.coordinates.width();
            if width > before {
                // A prototype may be added to those there are.
                let checked = self.check_numbers(self.classes.len() + 1, width);
                if let Err(fault) = checked.and_then(|()| self.rule.check_width(width)) {
                    self.coordinates.shrink(before);
                    return Err(fault);
                }
                self.prototypes.widen(&self.coordinates);
                self.rule.widen(&self.coordinates);
            }
        }
        let (mut row, mut distances) = (scratch.take_numbers(), scratch.take_numbers());
        write_row(&self.coordinates, x, &mut row);
        let missing = row.iter().filter(|x| x.is_nan()).count();
        let mut learned = Ok(());
        if missing < row.len() {
            self.rule.distances(&self.prototypes, &row, missing == 0, &mut distances, scratch);
            learned = self.learn_row(&row, missing == 0, y, w, &distances, scratch);
        }
        scratch.give_numbers(row);
        scratch.give_numbers(distances);
        debug_assert!(learned.is_ok() || self.coordinates.width() == before);
        learned
    }

    /// The distances of a row of any form, for predictions.
    fn find(&self, x: Row<'_>, distances: &mut Vec<f64>, scratch: &mut Scratch) {
        if let Row::Plain(values) = x {
            if self.coordinates.is_all_of(values) && are_within(values, LARGEST) {
                return self.rule.distances(&self.prototypes, values, true, distances, scratch);
            }
        }
        let mut row = scratch.take_numbers();
        write_row(&self.coordinates, x, &mut row);
        row.iter_mut().for_each(|x| *x = x.clamp(-LARGEST, LARGEST));
        let complete = !row.iter().any(|x| x.is_nan());
        self.rule.distances(&self.prototypes, &row, complete, distances, scratch);
        scratch.give_numbers(row);
    }
}

fn check_size(who: &str, x: Row<'_>, w: f64) -> Result<()> {
    check_row(who, x, LARGEST)?;
    check_weight(who, w)
}

impl<R: Rule> Part for PrototypeClassifier<R> {
    fn save(&self) -> Result<Vec<u8>> {
        let mut prototypes = vec![Vec::new(); self.prototypes.len()];
        prototypes.iter_mut().enumerate().for_each(|(index, row)| self.prototypes.copy_to(index, row));
        let (detectors, drifts) = match &self.reaction {
            Some(reaction) => reaction.save()?,
            None => (Vec::new(), 0),
        };
        pack(&State {
            coordinates: self.coordinates.clone(),
            prototypes,
            classes: self.classes.clone(),
            weights: self.prototypes.weights().to_vec(),
            skipped: self.skipped,
            detectors,
            drifts,
            rule: self.rule.save(),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State<R::State> = unpack(R::NAME, bytes)?;
        let who = R::NAME;
        state.coordinates.validate(who)?;
        let width = state.coordinates.width();
        let is_row = |row: &Vec<f64>| {
            row.len() == width
                && row.iter().all(|x| x.is_nan() || x.abs() <= LARGEST)
                && row.iter().any(|x| !x.is_nan())
        };
        let fits = self.check_numbers(state.prototypes.len() + 1, width).is_ok();
        require(who, fits, "there are too many coordinates")?;
        require(who, state.prototypes.iter().all(is_row), "a prototype is out of range")?;
        require(who, state.prototypes.len() <= self.max_prototypes, "there are too many prototypes")?;
        let same = state.classes.len() == state.prototypes.len() && state.weights.len() == state.prototypes.len();
        require(who, same, "a prototype has no class or weight")?;
        require(who, state.classes.iter().all(|&class| class < MOST_CLASSES), "a class is out of range")?;
        let is_weight = |w: &f64| *w > 0.0 && w.is_finite();
        require(who, state.weights.iter().all(is_weight), "a weight is out of range")?;
        let mut classes = state.classes.clone();
        classes.sort_unstable();
        let fits = classes.chunk_by(|a, b| a == b).all(|class| class.len() <= self.n_prototypes);
        require(who, fits, "a class has too many prototypes")?;
        let mut rule = self.rule.clone();
        require(who, rule.check_width(width).is_ok(), "there are too many coordinates")?;
        require(who, rule.load(state.rule, width), "the rule does not match the prototypes")?;
        let reaction = match &self.reaction {
            Some(reaction) => Some(reaction.load(state.detectors, state.drifts, MOST_CLASSES as usize)?),
            None => {
                require(who, state.detectors.is_empty() && state.drifts == 0, "there are detectors")?;
                None
            }
        };
        let mut prototypes = Centres::default();
        let rows = state.prototypes.iter().zip(&state.weights);
        rows.for_each(|(prototype, &weight)| prototypes.push(prototype, weight));
        self.codes = classes.last().map_or(0, |&class| class as usize + 1);
        self.coordinates = state.coordinates;
        self.prototypes = prototypes;
        self.classes = state.classes;
        self.skipped = state.skipped;
        self.reaction = reaction;
        self.rule = rule;
        Ok(())
    }

    fn memory(&self) -> usize {
        let reaction = self.reaction.as_ref().map_or(0, Reaction::memory);
        let parts = [self.coordinates.memory(), self.prototypes.memory(), self.rule.memory(), reaction];
        std::mem::size_of::<Self>() + 4 * self.classes.capacity() + parts.iter().sum::<usize>()
    }

    /// `{"prototypes": [{"class": code, "weight": …, "at": {feature: number, or {value: number} if it is nominal}}],
    /// "skipped": …, "drifts": …}`
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let prototypes: Vec<_> = (0..self.prototypes.len())
            .map(|prototype| {
                let at = named(schema, |slot, value| {
                    let place = self.coordinates.of(slot, value)? as usize;
                    Some(self.prototypes.value(prototype, place)).filter(|x| !x.is_nan())
                });
                let weight = self.prototypes.weights()[prototype];
                json!({ "class": self.classes[prototype], "weight": weight, "at": at })
            })
            .collect();
        let mut found = serde_json::Map::new();
        found.insert("prototypes".into(), json!(prototypes));
        found.insert("skipped".into(), json!(self.skipped));
        if let Some(reaction) = &self.reaction {
            found.insert("drifts".into(), json!(reaction.drifts));
        }
        self.rule.inspect(&mut found, &self.coordinates, schema);
        serde_json::Value::Object(found)
    }

    fn scalars(&self) -> serde_json::Value {
        let drifts = self.reaction.as_ref().map_or(0, |reaction| reaction.drifts);
        json!({ "prototypes": self.classes.len(), "skipped": self.skipped, "drifts": drifts })
    }
}

impl<R: Rule> Learner<Classes> for PrototypeClassifier<R> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let mut distances = scratch.take_numbers();
        self.find(x, &mut distances, scratch);
        self.tell(&distances, want, out);
        scratch.give_numbers(distances);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        check_size(R::NAME, x, w)?;
        match x {
            Row::Plain(values) if self.coordinates.is_all_of(values) && !values.is_empty() => {
                let mut distances = scratch.take_numbers();
                self.rule.distances(&self.prototypes, values, true, &mut distances, scratch);
                let learned = self.learn_row(values, true, y, w, &distances, scratch);
                scratch.give_numbers(distances);
                learned
            }
            _ => self.learn_any(x, y, w, scratch),
        }
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        check_size(R::NAME, x, w)?;
        match x {
            Row::Plain(values) if self.coordinates.is_all_of(values) && !values.is_empty() => {
                let mut distances = scratch.take_numbers();
                self.rule.distances(&self.prototypes, values, true, &mut distances, scratch);
                self.tell(&distances, want, out);
                let learned = self.learn_row(values, true, y, w, &distances, scratch);
                scratch.give_numbers(distances);
                learned
            }
            _ => {
                self.predict(x, want, out, scratch);
                self.learn_any(x, y, w, scratch)
            }
        }
    }

    fn learn_batch(
        &mut self,
        batch: &crate::batch::Batch<'_, Classes>,
        _buffer: &mut crate::task::ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let learned =
            |row: usize| self.learn(batch.rows.at(row), batch.truths[row], batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for the tests of the rules.

    use serde_json::{json, Value};

    use super::*;
    use crate::declaration::Built;
    use crate::registry;

    pub fn built(name: &str, parameters: Value) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    pub fn learn(model: &mut dyn Learner<Classes>, x: &[f64], y: u32, w: f64) {
        model.learn(Row::Plain(x), y, w, &mut Scratch::default()).unwrap();
    }

    pub fn predict(model: &dyn Learner<Classes>, x: &[f64]) -> ClassPrediction {
        let mut found = ClassPrediction::default();
        model.predict(Row::Plain(x), Want::Probabilities, &mut found, &mut Scratch::default());
        found
    }

    /// The coordinates of all prototypes.
    pub fn prototypes(model: &dyn Learner<Classes>, features: usize) -> Vec<Vec<f64>> {
        let mut schema = Schema::default();
        schema.widen(features);
        let found = model.inspect(&schema);
        let at = |prototype: &Value| {
            prototype["at"].as_object().unwrap().values().map(|x| x.as_f64().unwrap()).collect()
        };
        found["prototypes"].as_array().unwrap().iter().map(at).collect()
    }

    pub fn assert_near(found: &[Vec<f64>], wanted: &[&[f64]]) {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(found.iter().zip(*wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} is not {wanted:?}");
        }
    }
}
