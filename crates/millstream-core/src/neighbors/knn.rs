//! k-nearest neighbours over a window: the prediction is the vote, or the mean, of the k nearest of the last
//! `window_size` learned rows (Cover and Hart, 1967, "Nearest neighbor pattern classification").
//!
//! Distances: see `metric`. Of rows at the same distance, the newer one is nearer; of classes with the same vote, the one
//! that was learned first wins. Rows are stored as they were given, and scaled when they are compared (`scaling`).

use pulp::Arch;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Learner, Neighbor, Neighbors};
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch, Value, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::{Classes, Numbers, Task};

use super::hnsw::{Graph, SavedGraph};
use super::metric::{Metric, METRIC, P};
use super::nearest::Nearest;
use super::points::{kinds_of, write_row, Points, SavedPoints, LANES};
use super::scaling::{Moments, Scaling, SCALE};
use super::scan::{Query, Scan, Space};
use super::votes::{Vote, Weighting, WEIGHTS};

const CLASSIFIER_NAME: &str = "neighbors.KNNClassifier";
const REGRESSOR_NAME: &str = "neighbors.KNNRegressor";

/// The most numbers of a window of more than `NARROW` features: a gigabyte.
pub const MOST_NUMBERS: usize = 1 << 27;
pub const NARROW: usize = 1024;

const PARAMETERS: &[Parameter] = &[
    N_NEIGHBORS,
    Parameter::new(
        "window_size",
        Kind::Integer { low: 1, high: 1 << 30 },
        DefaultValue::Integer(1000),
        "number of last learned rows that are searched",
    ),
    WEIGHTS,
    METRIC,
    P,
    SCALE,
    Parameter::new(
        "engine",
        Kind::Optional(&Kind::Part(&[Role::SearchEngine])),
        DefaultValue::Null,
        "index for approximate searches; null for an exact scan",
    ),
];

pub const N_NEIGHBORS: Parameter = Parameter::new(
    "n_neighbors",
    Kind::Integer { low: 1, high: 1 << 20 },
    DefaultValue::Integer(5),
    "number of nearest rows that predict",
);

pub static CLASSIFIER: Declaration = Declaration {
    name: CLASSIFIER_NAME,
    role: Role::Classifier,
    words: "k-nearest neighbours over a window of the last rows, exact or by HNSW",
    merge: Merge::EXEMPLARS,
    parameters: PARAMETERS,
    build: |arguments| {
        Ok(Built::Classifier(Box::new(NearestNeighbors::<Classes>::of(arguments, CLASSIFIER_NAME)?)))
    },
};

pub static REGRESSOR: Declaration = Declaration {
    name: REGRESSOR_NAME,
    role: Role::Regressor,
    words: "k-nearest neighbours over a window of the last rows, exact or by HNSW, for regression",
    merge: Merge::EXEMPLARS,
    parameters: PARAMETERS,
    build: |arguments| Ok(Built::Regressor(Box::new(NearestNeighbors::<Numbers>::of(arguments, REGRESSOR_NAME)?))),
};

#[derive(Clone)]
struct NearestNeighbors<T: Task> {
    name: &'static str,
    n_neighbors: usize,
    metric: Metric,
    weighting: Weighting,
    points: Points,
    /// By place.
    truths: Vec<T::Truth>,
    /// By place; empty while all are 1.
    weights: Vec<f64>,
    scaling: Scaling,
    /// One more than the largest class code so far.
    classes: usize,
    graph: Option<Graph>,
    /// The instruction set of the processor.
    arch: Arch,
}

#[derive(Serialize, Deserialize)]
struct State<Truth> {
    points: SavedPoints,
    truths: Vec<Truth>,
    weights: Vec<f64>,
    scaling: Moments,
    classes: usize,
    graph: Option<SavedGraph>,
}

/// Push to a list that grows by little, because a window may stay far from full.
fn push_tightly<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 16 + 8);
    }
    list.push(item);
}

/// Refuse rows that would make a window too large for memory.
pub fn check_width(who: &str, width: usize, rows: usize) -> Result<()> {
    if width > NARROW && width.saturating_mul(rows) > MOST_NUMBERS {
        return Err(Fault::value(format!(
            "{who}: supports up to {MOST_NUMBERS} numbers in its window, got {width} features of {rows} rows: use a smaller \
             window, or select or hash features"
        )));
    }
    Ok(())
}

impl<T: Vote> NearestNeighbors<T> {
    fn of(arguments: &Arguments<'_>, name: &'static str) -> Result<Self> {
        let graph = match arguments.value("engine")?.is_null() {
            true => None,
            false => match arguments.part("engine")? {
                Built::SearchEngine(settings) => Some(Graph::new(settings)),
                _ => return Err(arguments.absent("engine")),
            },
        };
        let lanes = if graph.is_some() { 1 } else { LANES };
        Ok(NearestNeighbors {
            name,
            n_neighbors: arguments.size("n_neighbors")?,
            metric: Metric::of(arguments)?,
            weighting: Weighting::of(arguments)?,
            points: Points::new(arguments.size("window_size")?, lanes),
            truths: Vec::new(),
            weights: Vec::new(),
            scaling: Scaling::of(arguments)?,
            classes: 0,
            graph,
            arch: Arch::new(),
        })
    }

    fn space(&self) -> Space<'_> {
        Space { metric: self.metric, inverse: self.scaling.inverse() }
    }

    fn weight(&self, place: usize) -> f64 {
        self.weights.get(place).copied().unwrap_or(1.0)
    }

    /// Continue with the nearest rows.
    fn search<R>(
        &self,
        x: Row<'_>,
        most: usize,
        scratch: &mut Scratch,
        then: impl FnOnce(&Nearest<'_>, &mut Scratch) -> R,
    ) -> R {
        let mut values = scratch.take_numbers();
        let complete = self.points.query(x, &mut values);
        let query = Query { values: &values, complete };
        let mut nearest = Nearest::new(&self.points, most, scratch);
        match &self.graph {
            Some(graph) => graph.search(&self.points, self.space(), query, &mut nearest, most, scratch),
            None => Scan { points: &self.points, space: self.space(), query, visit: &mut nearest }.run(self.arch),
        }
        let result = then(&nearest, scratch);
        nearest.release(scratch);
        scratch.give_numbers(values);
        result
    }
}

impl<T: Vote> Part for NearestNeighbors<T>
where
    T::Truth: Serialize + DeserializeOwned,
{
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            points: self.points.save(),
            truths: self.truths.clone(),
            weights: self.weights.clone(),
            scaling: self.scaling.save().clone(),
            classes: self.classes,
            graph: self.graph.as_ref().map(Graph::save),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State<T::Truth> = unpack(self.name, bytes)?;
        let who = self.name;
        let rows = state.truths.len();
        let invalid = |what: &str| Fault::state(format!("{who}: the saved state is not valid: {what}"));
        let points =
            self.points.load(rows, &state.points).ok_or_else(|| invalid("the rows do not fit the window"))?;
        require(who, state.truths.iter().all(|&truth| T::is_storable(truth)), "a target is out of range")?;
        let classes = state.truths.iter().map(|&truth| T::classes_with(truth)).max().unwrap_or(0);
        require(who, (classes..=1 << 24).contains(&state.classes), "a class is out of range")?;
        let is_weight = |w: &f64| *w > 0.0 && w.is_finite();
        require(who, state.weights.iter().all(is_weight), "a weight is out of range")?;
        require(who, state.weights.is_empty() || state.weights.len() == rows, "a row has no weight")?;
        let scaling =
            self.scaling.load(state.scaling, points.width()).ok_or_else(|| invalid("a scale is out of range"))?;
        let graph = match (&self.graph, state.graph) {
            (None, None) => None,
            (Some(graph), Some(saved)) => {
                Some(graph.load(saved, rows).ok_or_else(|| invalid("the graph does not match the rows"))?)
            }
            _ => return Err(invalid("the engine does not match")),
        };
        (self.points, self.truths, self.weights) = (points, state.truths, state.weights);
        (self.scaling, self.classes, self.graph) = (scaling, state.classes, graph);
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.points.memory()
            + self.truths.capacity() * std::mem::size_of::<T::Truth>()
            + self.weights.capacity() * 8
            + self.scaling.memory()
            + self.graph.as_ref().map_or(0, Graph::memory)
    }

    fn infallible(&self) -> bool {
        let width = self.points.width();
        self.scaling.is_roomy()
            && (2 * width <= NARROW || width.saturating_mul(self.points.capacity()) <= MOST_NUMBERS / 2)
    }

    /// `{"rows": …, "scales": {feature: number}}`
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let mut scales = serde_json::Map::new();
        for (column, name) in schema.names().enumerate().take(self.scaling.inverse().len()) {
            if !self.points.nominal()[column] {
                scales.insert(name.text(), json!(1.0 / self.scaling.inverse()[column]));
            }
        }
        json!({ "rows": self.points.len(), "scales": scales })
    }
}

impl<T: Vote> Learner<T> for NearestNeighbors<T>
where
    T::Truth: Serialize + DeserializeOwned,
{
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        self.search(x, self.n_neighbors, scratch, |nearest, scratch| {
            let mut weights = scratch.take_numbers();
            self.weighting.weigh(self.metric, nearest.sums(), &mut weights);
            let neighbors = nearest
                .places()
                .iter()
                .zip(&weights)
                .map(|(&place, &weight)| (self.truths[place as usize], weight * self.weight(place as usize)));
            T::combine(neighbors, self.classes, want, out, scratch);
            scratch.give_numbers(weights);
        });
    }

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        if w == 0.0 {
            return Ok(());
        }
        let width = x.width().max(self.points.width());
        check_width(self.name, width, self.points.capacity())?;
        let mut row = scratch.take_numbers();
        write_row(x, width, &mut row);
        let kinds = kinds_of(x);
        let points = &self.points;
        let is_nominal = |column: usize| {
            points.nominal().get(column).is_some_and(|&nominal| nominal)
                || kinds.get(column) == Some(&FeatureKind::Nominal)
        };
        if let Err(fault) = self.scaling.prepare(&row, is_nominal, w, self.name) {
            scratch.give_numbers(row);
            return Err(fault);
        }
        self.scaling.commit();
        self.points.grow(width);
        let place = self.points.next();
        if let (Some(graph), true) = (&mut self.graph, self.points.is_full()) {
            let space = Space { metric: self.metric, inverse: self.scaling.inverse() };
            graph.remove(place, &self.points, space);
        }
        self.points.push(&row, kinds);
        scratch.give_numbers(row);
        if let Some(graph) = &mut self.graph {
            let space = Space { metric: self.metric, inverse: self.scaling.inverse() };
            graph.insert(place, &self.points, space);
        }
        if w != 1.0 && self.weights.is_empty() {
            self.weights.reserve_exact(self.truths.len() + 1);
            self.weights.resize(self.truths.len(), 1.0);
        }
        if place == self.truths.len() {
            push_tightly(&mut self.truths, y);
            if w != 1.0 || !self.weights.is_empty() {
                push_tightly(&mut self.weights, w);
            }
        } else {
            self.truths[place] = y;
            if let Some(weight) = self.weights.get_mut(place) {
                *weight = w;
            }
        }
        self.classes = self.classes.max(T::classes_with(y));
        Ok(())
    }

    fn learn_batch(
        &mut self,
        batch: &crate::batch::Batch<'_, T>,
        _buffer: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let learned =
            |row: usize| self.learn(batch.rows.at(row), batch.truths[row], batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn neighbors(&self) -> Option<&dyn Neighbors<T>> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<T>> {
        Box::new(self.clone())
    }
}

impl<T: Vote> Neighbors<T> for NearestNeighbors<T> {
    fn nearest(
        &self,
        x: Row<'_>,
        most: Option<usize>,
        scratch: &mut Scratch,
        then: &mut dyn FnMut(Neighbor<'_, T>),
    ) {
        let most = most.unwrap_or(self.n_neighbors).min(self.points.len());
        self.search(x, most, scratch, |nearest, _| {
            let mut buffer = RowBuffer::default();
            for (&sum, &place) in nearest.sums().iter().zip(nearest.places()) {
                let place = place as usize;
                write_stored(&self.points, place, &mut buffer);
                then(Neighbor {
                    distance: self.metric.distance(sum),
                    age: self.points.age(place),
                    row: buffer.row(),
                    truth: self.truths[place],
                    weight: self.weight(place),
                });
            }
        });
    }
}

/// A stored row with the kinds of its values.
fn write_stored(points: &Points, place: usize, buffer: &mut RowBuffer) {
    let (values, kinds) = buffer.mixed(points.width());
    for column in 0..points.width() {
        let value = points.value(place, column);
        values[column] = value;
        if let Some(Value::Nominal(_)) = points.typed(value, column) {
            kinds[column] = FeatureKind::Nominal;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;
    use crate::task::ClassPrediction;

    fn build(name: &str, parameters: serde_json::Value) -> Built {
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        registry::build_resolved(&description).unwrap()
    }

    fn classifier(parameters: serde_json::Value) -> Box<dyn Learner<Classes>> {
        let Built::Classifier(model) = build(CLASSIFIER_NAME, parameters) else { panic!() };
        model
    }

    fn regressor(parameters: serde_json::Value) -> Box<dyn Learner<Numbers>> {
        let Built::Regressor(model) = build(REGRESSOR_NAME, parameters) else { panic!() };
        model
    }

    #[test]
    fn votes_by_hand() {
        let mut model = classifier(json!({ "n_neighbors": 3, "scale": null, "weights": "distance" }));
        let mut scratch = Scratch::default();
        for (x, y, w) in [(1.0, 0, 1.0), (2.0, 1, 1.0), (4.0, 1, 2.0), (9.0, 0, 1.0)] {
            model.learn(Row::Plain(&[x]), y, w, &mut scratch).unwrap();
        }
        // At 0: distances 1, 2 and 4; votes 1/1 for class 0, and 1/2 + 2/4 for class 1; the first class wins the tie.
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[0.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, &out.probabilities[..]), (Some(0), &[0.5, 0.5][..]));
        // At 2, the distance 0 decides alone.
        model.predict(Row::Plain(&[2.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.probabilities, [0.0, 1.0]);
    }

    #[test]
    fn the_scale_is_that_of_the_search_by_hand() {
        let mut model = regressor(json!({ "n_neighbors": 1, "window_size": 10 }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[0.0, 0.0]), 1.0, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[1.0, 3.0]), 2.0, 1.0, &mut scratch).unwrap();
        // Deviations ½ and 3/2: (0.8, 0.6) is (1.6, 0.4) from the first and (0.4, 1.6) from the second row; the tie goes
        // to the newer one. (0.8, 0.59) is nearer to the first.
        assert_eq!(model.number(Row::Plain(&[0.75, 0.75]), &mut scratch), 2.0);
        assert_eq!(model.number(Row::Plain(&[0.75, 0.7]), &mut scratch), 1.0);
        // A row at (0.5, 1000) makes the second number matter hardly at all.
        model.learn(Row::Plain(&[0.5, 1000.0]), 3.0, 1.0, &mut scratch).unwrap();
        assert_eq!(model.number(Row::Plain(&[0.8, 0.7]), &mut scratch), 2.0);
    }

    #[test]
    fn of_equal_distances_the_newer_rows_win() {
        let mut model = regressor(json!({ "n_neighbors": 2, "window_size": 3, "scale": null }));
        let mut scratch = Scratch::default();
        assert_eq!(model.number(Row::Plain(&[0.0]), &mut scratch), 0.0);
        for (x, y) in [(1.0, 1.0), (-1.0, 2.0), (1.0, 3.0), (-1.0, 4.0)] {
            model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
        }
        // The first row has left the window; 3 and 4 are newer than 2.
        assert_eq!(model.number(Row::Plain(&[0.0]), &mut scratch), 3.5);
    }

    #[test]
    fn large_targets_do_not_overflow() {
        let mut model = regressor(json!({ "scale": null }));
        let mut scratch = Scratch::default();
        for y in [1e308, 1.5e308, 1e308] {
            model.learn(Row::Plain(&[1e308, -1e308]), y, 1e308, &mut scratch).unwrap();
        }
        assert!(model.number(Row::Plain(&[-1e308, 0.0]), &mut scratch).is_finite());
    }

    #[test]
    fn a_row_that_overflows_the_scale_is_refused() {
        let mut model = regressor(json!({}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1.0, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1e300, 2.0]), 1.0, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let parameters = json!({ "window_size": 3, "engine": "neighbors.HNSW" });
        let points = json!({ "width": 1, "next": 2, "nominal": [false], "values": [1.0, 2.0] });
        let scaling = json!({ "counts": [2.0], "first": [1.5], "second": [0.5] });
        let graph = json!({ "random": [1, 2, 3, 4], "entry": 0, "links": [[[1]], [[0]]] });
        let state = json!({
            "points": points, "truths": [0, 1], "weights": [], "scaling": scaling, "classes": 2, "graph": graph
        });
        let load = |path: &str, value: serde_json::Value| {
            let mut state = state.clone();
            *state.pointer_mut(path).unwrap() = value;
            classifier(parameters.clone()).load(&pack(&state).unwrap())
        };
        load("/classes", json!(2)).unwrap();
        for (path, value) in [
            ("/points/next", json!(1)),
            ("/points/values", json!([1.0])),
            ("/points/nominal", json!([])),
            ("/points/nominal", json!([true, false])),
            ("/truths", json!([0, 4_000_000_000u32])),
            ("/truths", json!([0, 1, 1, 1])),
            ("/classes", json!(1)),
            ("/weights", json!([1.0])),
            ("/weights", json!([1.0, -1.0])),
            ("/scaling/second", json!([-0.5])),
            ("/scaling/counts", json!([])),
            ("/graph", serde_json::Value::Null),
            ("/graph/entry", json!(2)),
            ("/graph/entry", serde_json::Value::Null),
            ("/graph/links", json!([[[1]]])),
            ("/graph/links", json!([[[1]], [[1]]])),
            ("/graph/links", json!([[[1]], [[5]]])),
            ("/graph/links", json!([[[1, 1]], [[0]]])),
            ("/graph/links", json!([[[1], [1]], [[0]]])),
            ("/graph/links", json!([[], [[0]]])),
        ] {
            assert!(load(path, value.clone()).is_err(), "{path}: {value}");
        }
    }
}
