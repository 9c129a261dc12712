//! What fuzzy ART and fuzzy ARTMAP have in common: rows as points of the unit cube, and their categories.
//!
//! Declared limits of a feature are mapped to 0 and 1, and values outside count as the nearest limit. The range of other features
//! is [0, 1]: a row with a value outside is not learned, because a range that follows the data would change the meaning of
//! the categories there are. In predictions it counts as the nearest limit too, so that a scaler that has not seen a value yet
//! may stand in front.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::art::categories::{Categories, Coded, Overlaps};
use crate::cluster::coordinate_rows::write_row;
use crate::fault::{Fault, Result, Shown};
use crate::held::state::require;
use crate::limits::Limits;
use crate::linear_model::{named, Coordinates};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::prototype::MAX_PROTOTYPES;
use crate::row::{Row, Scratch, Value};
use crate::schema::Schema;

/// The largest weight of a row.
const HEAVIEST: f64 = 1e100;
/// The largest number of weights of all categories.
const MOST_NUMBERS: usize = 1 << 24;

pub const CHOICE: Parameter = Parameter::new(
    "choice",
    Kind::Float(Bounds::new(0.0, false, 1e6, true)),
    DefaultValue::Float(0.01),
    "choice parameter: the smaller, the more small categories are preferred to large ones",
);
pub const LEARNING_RATE: Parameter = Parameter::new(
    "learning_rate",
    Kind::Float(Bounds::FRACTION),
    DefaultValue::Float(1.0),
    "fraction of the way that a category grows towards its row; 1 for fast learning",
);
pub const LIMITS: Parameter = Parameter::new(
    "limits",
    Kind::Optional(&Kind::Limits),
    DefaultValue::Null,
    "ranges of features; [0, 1] for features not named, whose values must lie in it",
);
pub const MAX_CATEGORIES: Parameter = MAX_PROTOTYPES.with_words("largest number of categories");

/// Buffers of a row.
#[derive(Clone, Debug, Default)]
pub struct CodedRow {
    /// `Coded` pairs, flat: buffers of the scratch are lists of numbers.
    coded: Vec<f64>,
    /// Whether no value is missing.
    pub complete: bool,
    pub found: Overlaps,
}

impl CodedRow {
    pub fn point(&self) -> &[Coded] {
        self.coded.as_chunks().0
    }
}

#[derive(Clone, Debug)]
pub struct Module {
    who: &'static str,
    pub choice: f64,
    pub vigilance: f64,
    pub learning_rate: f64,
    pub max_prototypes: usize,
    limits: Limits,
    /// The names of features, for messages.
    names: Vec<String>,
    coordinates: Coordinates,
    /// The declared range of each coordinate.
    ranges: Vec<Option<(f64, f64)>>,
    pub categories: Categories,
    /// Rows that needed another category when there were as many as possible.
    pub skipped: u64,
    /// Taken while a row is learned.
    spare: CodedRow,
}

#[derive(Serialize, Deserialize)]
pub struct ModuleState {
    coordinates: Coordinates,
    categories: Vec<Vec<Coded>>,
    weights: Vec<f64>,
    skipped: u64,
}

impl Module {
    pub fn new(who: &'static str, arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Module {
            who,
            choice: arguments.float("choice")?,
            vigilance: arguments.float("vigilance")?,
            learning_rate: arguments.float("learning_rate")?,
            max_prototypes: arguments.size("max_prototypes")?,
            limits: Limits::new(arguments.value("limits")?),
            names: Vec::new(),
            coordinates: Coordinates::default(),
            ranges: Vec::new(),
            categories: Categories::default(),
            skipped: 0,
            spare: CodedRow::default(),
        })
    }

    pub fn bind(&mut self, schema: &Schema) {
        self.limits.bind(schema);
        self.names = schema.names().map(|name| name.to_string()).collect();
        self.arrange();
    }

    /// Find the range of each coordinate.
    fn arrange(&mut self) {
        let Module { ranges, coordinates, limits, .. } = self;
        ranges.clear();
        ranges.resize(coordinates.width(), None);
        coordinates.each_slot(|slot, number, _| {
            if let Some(place) = number {
                ranges[place] = limits.of(slot as u32);
            }
        });
    }

    /// Refuse a number outside [0, 1] in a feature without a declared range.
    #[inline]
    fn check(&self, x: Row<'_>, w: f64) -> Result<()> {
        if w > HEAVIEST {
            return Err(Fault::overflow(self.who));
        }
        if self.limits.are_complete() {
            return Ok(());
        }
        if let Row::Plain(values) = x {
            if values.iter().fold(true, |inside, &x| inside & (0.0..=1.0).contains(&x)) {
                return Ok(());
            }
        }
        self.check_each(x)
    }

    #[cold]
    fn check_each(&self, x: Row<'_>) -> Result<()> {
        let mut outside = None;
        x.each(|slot, value| {
            if let Value::Number(number) = value {
                let undeclared = outside.is_none() && self.limits.of(slot as u32).is_none();
                if undeclared && !(0.0..=1.0).contains(&number) {
                    outside = Some((slot, number));
                }
            }
        });
        let Some((slot, number)) = outside else { return Ok(()) };
        let name = self.names.get(slot).cloned().unwrap_or_else(|| slot.to_string());
        Err(Fault::value(format!(
            "{}: feature {name} must be in [0, 1], got {}; declare its range with limits, or scale it first",
            self.who,
            Shown(number)
        )))
    }

    /// Write the coordinates of a row as `Coded` pairs.
    #[inline]
    fn write_pairs(&self, row: &[f64], out: &mut Vec<f64>) {
        out.resize(2 * row.len(), 0.0);
        for ((pair, &x), &range) in out.as_chunks_mut().0.iter_mut().zip(row).zip(&self.ranges) {
            let a = range.map_or(x, |(low, high)| (x - low) / (high - low)).clamp(0.0, 1.0);
            *pair = [a, 1.0 - a];
        }
    }

    /// Write a row as a point of the unit cube, with its overlap with each category.
    #[inline]
    fn code(&self, x: Row<'_>, out: &mut CodedRow, scratch: &mut Scratch) {
        match x {
            Row::Plain(values) if self.coordinates.is_all_of(values) => {
                self.write_pairs(values, &mut out.coded);
                out.complete = true;
            }
            _ => {
                let mut row = scratch.take_numbers();
                write_row(&self.coordinates, x, &mut row);
                self.write_pairs(&row, &mut out.coded);
                out.complete = !row.iter().any(|x| x.is_nan());
                scratch.give_numbers(row);
            }
        }
        let CodedRow { coded, complete, found } = out;
        self.categories.overlap(coded.as_chunks().0, *complete, found);
    }

    /// Code a row for a prediction.
    pub fn coded(&self, x: Row<'_>, scratch: &mut Scratch) -> CodedRow {
        let found = Overlaps { overlaps: scratch.take_numbers(), sizes: scratch.take_numbers(), present: 0.0 };
        let mut row = CodedRow { coded: scratch.take_numbers(), complete: true, found };
        self.code(x, &mut row, scratch);
        row
    }

    /// Give back the buffers of a prediction.
    pub fn release(row: CodedRow, scratch: &mut Scratch) {
        scratch.give_numbers(row.coded);
        scratch.give_numbers(row.found.overlaps);
        scratch.give_numbers(row.found.sizes);
    }

    /// Check a row that is to be learned and code it, with new coordinates where it has new features or values. `release_spare`
    /// returns the buffers.
    pub fn prepare(&mut self, x: Row<'_>, w: f64, scratch: &mut Scratch) -> Result<CodedRow> {
        self.check(x, w)?;
        let mut width = self.coordinates.width();
        if self.coordinates.may_grow(x) {
            let before = self.coordinates.grow(x);
            width = self.coordinates.width();
            if width > before {
                if let Err(fault) = self.check_numbers(width) {
                    self.coordinates.shrink(before);
                    return Err(fault);
                }
                self.categories.widen(&self.coordinates);
                self.arrange();
            }
        }
        self.check_numbers(width)?;
        let mut row = std::mem::take(&mut self.spare);
        self.code(x, &mut row, scratch);
        Ok(row)
    }

    pub fn release_spare(&mut self, row: CodedRow) {
        self.spare = row;
    }

    /// Leave room for another category.
    fn check_numbers(&self, width: usize) -> Result<()> {
        let categories = self.categories.len() + 1;
        match categories.saturating_mul(2 * width) > MOST_NUMBERS {
            true => Err(Fault::value(format!(
                "{}: supports up to {MOST_NUMBERS} weights, got {width} features and nominal values of {categories} \
                 categories: lower max_prototypes, or select features",
                self.who
            ))),
            false => Ok(()),
        }
    }

    /// The choice T = |I ∧ w| / (α + |w|) of a category.
    #[inline]
    pub fn activation(&self, found: &Overlaps, category: usize) -> f64 {
        found.overlaps[category] / (self.choice + found.sizes[category])
    }

    /// The category of the largest choice, the first among equals, of those that `admits` accepts.
    #[inline]
    pub fn best(&self, found: &Overlaps, admits: impl Fn(usize) -> bool) -> Option<usize> {
        let mut best = None;
        let mut most = f64::NEG_INFINITY;
        for category in 0..found.overlaps.len() {
            let activation = self.activation(found, category);
            if activation > most && admits(category) {
                (best, most) = (Some(category), activation);
            }
        }
        best
    }

    /// Add a category at a row; false if there are as many as possible, which counts the row as skipped.
    pub fn add(&mut self, row: &CodedRow, w: f64) -> bool {
        if self.categories.len() >= self.max_prototypes {
            self.skipped = self.skipped.saturating_add(1);
            return false;
        }
        self.categories.push(row.point(), w);
        true
    }

    pub fn save(&self) -> ModuleState {
        ModuleState {
            coordinates: self.coordinates.clone(),
            categories: (0..self.categories.len()).map(|category| self.categories.copy(category)).collect(),
            weights: self.categories.weights().to_vec(),
            skipped: self.skipped,
        }
    }

    pub fn load(&mut self, state: ModuleState) -> Result<()> {
        let who = self.who;
        state.coordinates.validate(who)?;
        let width = state.coordinates.width();
        let numbers = (state.categories.len() + 1).saturating_mul(2 * width);
        require(who, numbers <= MOST_NUMBERS, "there are too many coordinates")?;
        // Slow learning rounds, so that a box may be a little wider than the sum of its weights says.
        let is_box = |&[u, v]: &Coded| {
            (0.0..=1.0).contains(&u) && (0.0..=1.0).contains(&v) && (u + v <= 1.0 + 1e-9 || [u, v] == [1.0, 1.0])
        };
        let is_category = |row: &Vec<Coded>| row.len() == width && width > 0 && row.iter().all(is_box);
        require(who, state.categories.iter().all(is_category), "a category is out of range")?;
        require(who, state.categories.len() <= self.max_prototypes, "there are too many categories")?;
        require(who, state.weights.len() == state.categories.len(), "a category has no weight")?;
        let is_weight = |w: &f64| *w > 0.0 && w.is_finite();
        require(who, state.weights.iter().all(is_weight), "a weight is out of range")?;
        let mut categories = Categories::default();
        let rows = state.categories.iter().zip(&state.weights);
        rows.for_each(|(category, &weight)| categories.push(category, weight));
        self.coordinates = state.coordinates;
        self.categories = categories;
        self.skipped = state.skipped;
        self.arrange();
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let names: usize = self.names.iter().map(|name| 24 + name.capacity()).sum();
        let spare = 8
            * (self.spare.coded.capacity()
                + self.spare.found.overlaps.capacity()
                + self.spare.found.sizes.capacity());
        names + spare + self.coordinates.memory() + self.categories.memory() + 24 * self.ranges.capacity()
    }

    /// `{"weight": …, "low": {…}, "high": {…}, "centre": {…}}` of a category, in the units of the features.
    pub fn inspect(&self, category: usize, schema: &Schema) -> Map<String, Json> {
        let of = |corner: &dyn Fn(f64, f64) -> f64| {
            named(schema, |slot, value| {
                let place = self.coordinates.of(slot, value)? as usize;
                let [u, v] = self.categories.value(category, place);
                let (low, high) = self.ranges[place].unwrap_or((0.0, 1.0));
                ([u, v] != [1.0, 1.0]).then(|| low + corner(u, 1.0 - v) * (high - low))
            })
        };
        let mut found = Map::new();
        found.insert("weight".into(), json!(self.categories.weights()[category]));
        found.insert("low".into(), json!(of(&|low, _| low)));
        found.insert("high".into(), json!(of(&|_, high| high)));
        found.insert("centre".into(), json!(of(&|low, high| (low + high) / 2.0)));
        found
    }
}
