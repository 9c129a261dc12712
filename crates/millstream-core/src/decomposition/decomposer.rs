//! A decomposition as a transformer: coordinates, waiting rows, updates and undoing, the same for all methods.
//!
//! A row is stored until the method is due for an update, which depends on the number of rows alone. The update
//! writes to a second value, which then changes places with the first: `undo` swaps back. Features get coordinates
//! when a row is learned, a nominal feature one for each value, and become part of the decomposition with the next
//! update.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::linear_model::{named, Coordinates};
use crate::merging::Merger;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::waiting_rows::{check_values, gather, Layout, WaitingRows, LARGEST};

pub const N_COMPONENTS: Parameter = Parameter::new(
    "n_components",
    Kind::Integer { low: 1, high: 10_000 },
    DefaultValue::Integer(2),
    "number of components, and of output features",
);

pub const BATCH_SIZE: Parameter = Parameter::new(
    "batch_size",
    Kind::Integer { low: 1, high: 1_000_000 },
    DefaultValue::Integer(100),
    "number of rows per update",
);

pub const SEED: Parameter =
    Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, DefaultValue::Integer(1), "random seed");

/// A method of decomposition: its parameters, and what it does with rows.
pub trait Method: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Output features are called this, an underscore and a number.
    const OUTPUT: &'static str;
    const LAYOUT: Layout;
    const NOT_NEGATIVE: bool = false;
    type Fitted: Clone + Default + Serialize + DeserializeOwned + Send + Sync;
    type Work: Clone + Default + Send + Sync;

    fn n_components(&self) -> usize;

    /// The largest number of coordinates. By default that of methods whose state grows with this number, not with its
    /// square.
    fn most_coordinates(&self) -> usize {
        1 << 20
    }

    /// Whether an update is due when so many rows wait.
    fn is_due(&self, fitted: &Self::Fitted, waiting: usize) -> bool;

    /// Write the decomposition after the waiting rows to `next`; false if it overflows. A coordinate that came
    /// after a row counts in that row, and in all rows before, as what `absent` holds for it: NaN (missing) or 0.
    fn update(
        &self,
        fitted: &Self::Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Self::Fitted,
        work: &mut Self::Work,
    ) -> bool;

    /// Whether there is something to transform with; before that, the output is 0.
    fn is_ready(&self, fitted: &Self::Fitted) -> bool;

    /// Number of coordinates that the decomposition covers.
    fn width(&self, fitted: &Self::Fitted) -> usize;

    /// The components of a row of `width` coordinates, which may be overwritten. `out` holds zeros. Results that
    /// are not finite are replaced.
    fn transform(
        &self,
        fitted: &Self::Fitted,
        indices: &[u32],
        values: &mut [f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    );

    /// Refuse a decomposition that could not have been saved.
    fn validate(&self, fitted: &Self::Fitted) -> Result<()>;

    /// Compute what is not saved.
    fn revive(&self, _fitted: &mut Self::Fitted) {}

    fn memory(&self, fitted: &Self::Fitted) -> usize;

    /// Of the buffers of an update.
    fn work_memory(&self, work: &Self::Work) -> usize;

    /// Numbers for `inspect`, and vectors over the coordinates by name.
    fn report(&self, fitted: &Self::Fitted, rows: &WaitingRows) -> Report;

    /// Merge the decomposition of another part of the stream, in which no rows wait; its coordinate i is
    /// `indices[i]` of `width` here.
    fn merge(
        &self,
        _fitted: &mut Self::Fitted,
        _other: &Self::Fitted,
        _indices: &[usize],
        _width: usize,
    ) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }
}

/// What `inspect` shows.
#[derive(Default)]
pub struct Report {
    pub numbers: Map<String, Json>,
    /// Each a list of vectors over the coordinates.
    pub vectors: Vec<(&'static str, Vec<Vec<f64>>)>,
    /// Each one vector over the coordinates.
    pub vector: Vec<(&'static str, Vec<f64>)>,
}

#[derive(Clone)]
pub struct Decomposer<M: Method> {
    method: M,
    state: State<M::Fitted>,
    /// The decomposition before the last update, and the rows of that update.
    spare: M::Fitted,
    updated: WaitingRows,
    undo: Undo,
    work: M::Work,
    /// What a coordinate counts as in a row without it.
    absent: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State<F> {
    coordinates: Coordinates,
    fitted: F,
    waiting: WaitingRows,
}

/// How to revert the last `learn`, with the number of coordinates before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undo {
    Nothing,
    Waiting(usize),
    Updated(usize),
}

impl<M: Method> Decomposer<M> {
    pub fn build(method: M) -> Built {
        Built::Transformer(Box::new(Decomposer {
            method,
            state: State {
                coordinates: Coordinates::default(),
                fitted: M::Fitted::default(),
                waiting: WaitingRows::default(),
            },
            spare: M::Fitted::default(),
            updated: WaitingRows::default(),
            undo: Undo::Nothing,
            work: M::Work::default(),
            absent: Vec::new(),
        }))
    }

    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let before = self.state.coordinates.width();
        if !self.state.coordinates.may_grow(x) {
            return Ok(());
        }
        self.state.coordinates.grow(x);
        self.check_width().inspect_err(|_| self.state.coordinates.shrink(before))
    }

    fn check_width(&self) -> Result<()> {
        let (width, most) = (self.state.coordinates.width(), self.method.most_coordinates());
        if width <= most {
            return Ok(());
        }
        let who = M::NAME;
        Err(Fault::value(format!("{who}: supports up to {most} features and nominal values, got {width}")))
    }

    /// Update with the waiting rows; false if it overflows, and then nothing has changed.
    fn update(&mut self) -> bool {
        let Decomposer { method, state, spare, updated, work, absent, .. } = self;
        let width = state.coordinates.width();
        if absent.len() != width || state.coordinates.mapped() {
            absent.clear();
            absent.resize(width, 0.0);
            if M::LAYOUT == Layout::Centred {
                state.coordinates.fill_numbers(absent, f64::NAN);
            }
        }
        if !method.update(&state.fitted, &state.waiting, absent, spare, work) {
            return false;
        }
        std::mem::swap(&mut state.fitted, spare);
        std::mem::swap(&mut state.waiting, updated);
        state.waiting.clear();
        true
    }
}

impl<M: Method> Part for Decomposer<M> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state: State<M::Fitted> = unpack(M::NAME, bytes)?;
        state.coordinates.validate(M::NAME)?;
        let width = state.coordinates.width();
        require(M::NAME, width <= self.method.most_coordinates(), "too many coordinates")?;
        self.method.validate(&state.fitted)?;
        require(M::NAME, self.method.width(&state.fitted) <= width, "components of unknown coordinates")?;
        state.waiting.validate(M::NAME, width, M::LAYOUT, M::NOT_NEGATIVE)?;
        let rows = state.waiting.len();
        require(M::NAME, rows == 0 || !self.method.is_due(&state.fitted, rows), "too many rows wait")?;
        self.method.revive(&mut state.fitted);
        self.state = state;
        self.undo = Undo::Nothing;
        Ok(())
    }

    fn memory(&self) -> usize {
        let Decomposer { method, state, spare, work, .. } = self;
        let fitted = method.memory(&state.fitted) + method.memory(spare) + method.work_memory(work);
        let rows = self.state.waiting.memory() + self.updated.memory() + 8 * self.absent.capacity();
        std::mem::size_of::<Self>() + self.state.coordinates.memory() + fitted + rows
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            checks_rows: M::NOT_NEGATIVE,
            missing_is_zero: M::LAYOUT != Layout::Centred,
            ..Abilities::default()
        }
    }

    fn check(&self, x: Row<'_>, _scratch: &mut Scratch) -> Result<()> {
        let mut checked = Ok(());
        x.each(|_, value| {
            if let (Value::Number(number), true) = (value, checked.is_ok()) {
                // A row that is only transformed may have any size.
                checked = check_values(M::NAME, &[number.clamp(-LARGEST, LARGEST)], M::NOT_NEGATIVE);
            }
        });
        checked
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let side = merger.without_base()?;
        let mut there = self.clone();
        there.load(side.state)?;
        for part in [&mut *self, &mut there] {
            if part.state.waiting.len() > 0 && !part.update() {
                return Err(Fault::overflow(M::NAME));
            }
        }
        let indices = self.state.coordinates.join(&there.state.coordinates, side.schema, merger.ours)?;
        self.check_width()?;
        let indices: Vec<usize> = indices.iter().map(|&index| index as usize).collect();
        let width = self.state.coordinates.width();
        self.undo = Undo::Nothing;
        self.method.merge(&mut self.state.fitted, &there.state.fitted, &indices, width)
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let Report { mut numbers, vectors, vector } = self.method.report(&self.state.fitted, &self.state.waiting);
        numbers.insert("ready".into(), json!(self.method.is_ready(&self.state.fitted)));
        let by_name = |vector: &[f64]| {
            Json::Object(named(schema, |slot, value| {
                vector.get(self.state.coordinates.of(slot, value)? as usize).copied()
            }))
        };
        for (name, list) in vectors {
            numbers.insert(name.into(), list.iter().map(|vector| by_name(vector)).collect());
        }
        for (name, vector) in vector {
            numbers.insert(name.into(), by_name(&vector));
        }
        Json::Object(numbers)
    }

    fn scalars(&self) -> Json {
        let mut numbers = self.method.report(&self.state.fitted, &self.state.waiting).numbers;
        numbers.insert("ready".into(), json!(self.method.is_ready(&self.state.fitted)));
        Json::Object(numbers)
    }
}

impl<M: Method> Transformer for Decomposer<M> {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let out = out.plain(self.method.n_components());
        out.fill(0.0);
        let fitted = &self.state.fitted;
        if !self.method.is_ready(fitted) {
            return;
        }
        let (mut indices, mut values) = (scratch.take_indices(), scratch.take_numbers());
        let width = self.method.width(fitted);
        gather(&self.state.coordinates, x, width, M::LAYOUT, &mut indices, &mut values);
        self.method.transform(fitted, &indices, &mut values, out, scratch);
        out.iter_mut().for_each(|x| *x = finite(*x));
        scratch.give_indices(indices);
        scratch.give_numbers(values);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.undo = Undo::Nothing;
        let before = self.state.coordinates.width();
        self.grow(x)?;
        self.state.waiting.push(&self.state.coordinates, x, w, M::LAYOUT);
        let rows = self.state.waiting.len();
        let mut learned = check_values(M::NAME, self.state.waiting.values(rows - 1), M::NOT_NEGATIVE);
        if learned.is_ok() && w > LARGEST {
            learned = Err(Fault::overflow(M::NAME));
        }
        let due = self.method.is_due(&self.state.fitted, rows);
        if learned.is_ok() && due && !self.update() {
            learned = Err(Fault::overflow(M::NAME));
        }
        if learned.is_err() {
            self.state.waiting.pop();
            self.state.coordinates.shrink(before);
            return learned;
        }
        self.undo = if due { Undo::Updated(before) } else { Undo::Waiting(before) };
        Ok(())
    }

    fn undo(&mut self) {
        let before = match std::mem::replace(&mut self.undo, Undo::Nothing) {
            Undo::Nothing => return,
            Undo::Waiting(before) => before,
            Undo::Updated(before) => {
                std::mem::swap(&mut self.state.fitted, &mut self.spare);
                std::mem::swap(&mut self.state.waiting, &mut self.updated);
                before
            }
        };
        self.state.waiting.pop();
        self.state.coordinates.shrink(before);
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        for index in 0..self.method.n_components() {
            schema.push_unique(Name::Text(format!("{}_{index}", M::OUTPUT).into()), FeatureKind::Number);
        }
        schema.mark();
        schema
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod testing {
    use serde_json::json;

    use super::*;
    use crate::registry;

    pub fn transformer(name: &str, parameters: Json) -> Box<dyn Transformer> {
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        let Built::Transformer(part) = registry::build_resolved(&description).unwrap() else { panic!() };
        part
    }

    pub fn learn(part: &mut dyn Transformer, rows: &[&[f64]]) {
        let mut scratch = Scratch::default();
        rows.iter().for_each(|row| part.learn(Row::Plain(row), Truth::None, 1.0, &mut scratch).unwrap());
    }

    pub fn transformed(part: &dyn Transformer, x: &[f64]) -> Vec<f64> {
        let mut out = RowBuffer::default();
        part.transform(Row::Plain(x), &mut out, &mut Scratch::default());
        let Row::Plain(found) = out.row() else { panic!() };
        found.to_vec()
    }

    pub fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }

    /// Learning a row and undoing it leaves the state as it was, whether or not it led to an update.
    pub fn undoes(part: &mut dyn Transformer, rows: &[&[f64]]) {
        let mut scratch = Scratch::default();
        for row in rows {
            let before = part.save().unwrap();
            part.learn(Row::Plain(row), Truth::None, 1.0, &mut scratch).unwrap();
            let after = part.save().unwrap();
            part.undo();
            assert_eq!(part.save().unwrap(), before);
            part.learn(Row::Plain(row), Truth::None, 1.0, &mut scratch).unwrap();
            assert_eq!(part.save().unwrap(), after);
        }
    }
}
