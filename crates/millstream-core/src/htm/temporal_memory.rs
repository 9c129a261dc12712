//! A temporal memory: cells that learn which columns follow which (Hawkins and Ahmad, 2016, "Why neurons have thousands of
//! synapses, a theory of sequence memory in neocortex").
//!
//! A column is a bit of the row; it has M cells. A cell has segments, each a set of synapses from other cells. A segment is
//! active if at least `activation_threshold` of its connected synapses come from active cells, and matching if at least
//! `min_threshold` of all of them do. At a row, with the segments that the last row activated:
//!
//! - In an active column with active segments, their cells are active (eq. 1). The synapses of these segments grow at cells
//!   that were active and shrink at others (eq. 4), and the segments grow synapses with cells that won at the last row.
//! - In any other active column all cells are active: it bursts. The cell of its best matching segment wins, and that
//!   segment learns in the same way; if there is none, a cell with the fewest segments wins and gets a new segment.
//! - In a column that is not active, the synapses of matching segments from active cells shrink a little: they predicted
//!   what did not come.
//!
//! Then the active cells activate segments anew (eq. 2, 3): these predict the next row. The raw anomaly score is the
//! fraction of active columns without an active segment (Ahmad and others, 2017, eq. 2); 0 at the first row of a sequence,
//! when nothing can be predicted.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds as Range, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Anomalies;

use super::bits::active_bits;
use super::segments::{Bounds, CellSet, SavedSegments, Segments};
use super::spatial_pooler::{N_COLUMNS, SEED};

const NAME: &str = "htm.TemporalMemory";
/// A purpose of the seed.
const CELLS: u64 = 2 << 40;
const MOST_CELLS: usize = 1 << 24;

pub const CELLS_PER_COLUMN: Parameter = Parameter::new(
    "cells_per_column",
    Kind::Integer { low: 1, high: 1 << 10 },
    DefaultValue::Integer(32),
    "number of cells of a column: contexts in which it can be told apart",
);
pub const ACTIVATION_THRESHOLD: Parameter = Parameter::new(
    "activation_threshold",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(13),
    "number of connected synapses from active cells that activate a segment",
);
pub const MIN_THRESHOLD: Parameter = Parameter::new(
    "min_threshold",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(10),
    "number of synapses from active cells of a segment that may learn in a column that bursts",
);
pub const NEW_SYNAPSES: Parameter = Parameter::new(
    "new_synapses",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(20),
    "number of synapses from active cells that a learning segment grows up to",
);
pub const MAX_SEGMENTS_PER_CELL: Parameter = Parameter::new(
    "max_segments_per_cell",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(128),
    "largest number of segments of a cell; the least recently used one is replaced",
);
pub const MAX_SYNAPSES: Parameter = Parameter::new(
    "max_synapses",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(32),
    "largest number of synapses of a segment; the weakest ones are replaced",
);
pub const MAX_SEGMENTS: Parameter = Parameter::new(
    "max_segments",
    Kind::Integer { low: 1, high: 1 << 24 },
    DefaultValue::Integer(1 << 17),
    "largest number of segments; the least recently used one is replaced",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::AnomalyDetector,
    words: "Cells that learn sequences of rows of bits, and score the bits that they did not predict",
    merge: Merge::ORDER,
    parameters: &[
        N_COLUMNS.with_words("number of columns: the row has at most so many bits"),
        CELLS_PER_COLUMN,
        ACTIVATION_THRESHOLD,
        MIN_THRESHOLD,
        NEW_SYNAPSES,
        Parameter::new(
            "initial_permanence",
            Kind::Float(Range::FRACTION),
            DefaultValue::Float(0.21),
            "permanence of a new synapse",
        ),
        Parameter::new(
            "connected_permanence",
            Kind::Float(Range::FRACTION),
            DefaultValue::Float(0.5),
            "lowest permanence of a connected synapse",
        ),
        Parameter::new(
            "permanence_increment",
            Kind::Float(Range::UNIT),
            DefaultValue::Float(0.1),
            "growth of the synapses of a learning segment from active cells",
        ),
        Parameter::new(
            "permanence_decrement",
            Kind::Float(Range::UNIT),
            DefaultValue::Float(0.1),
            "decay of the other synapses of a learning segment",
        ),
        Parameter::new(
            "predicted_decrement",
            Kind::Float(Range::UNIT),
            DefaultValue::Float(0.001),
            "decay of the synapses from active cells of a segment that predicted what did not come",
        ),
        MAX_SEGMENTS_PER_CELL,
        MAX_SYNAPSES,
        MAX_SEGMENTS,
        SEED,
    ],
    build: |arguments| {
        let memory = Memory::new(Settings::new(arguments)?);
        Ok(Built::AnomalyDetector(Box::new(TemporalMemory { memory, columns: Vec::new() })))
    },
};

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub n_columns: usize,
    pub cells_per_column: usize,
    pub activation_threshold: u16,
    pub min_threshold: u16,
    pub new_synapses: usize,
    pub initial: f32,
    pub connected: f32,
    pub increment: f32,
    pub decrement: f32,
    pub predicted_decrement: f32,
    pub max_per_cell: usize,
    pub max_synapses: usize,
    pub max_segments: usize,
    pub seed: u64,
}

impl Settings {
    fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let permanence = |name| arguments.float(name).map(|permanence| permanence as f32);
        let settings = Settings {
            n_columns: arguments.size("n_columns")?,
            cells_per_column: arguments.size("cells_per_column")?,
            activation_threshold: arguments.size("activation_threshold")? as u16,
            min_threshold: arguments.size("min_threshold")? as u16,
            new_synapses: arguments.size("new_synapses")?,
            initial: permanence("initial_permanence")?,
            connected: permanence("connected_permanence")?,
            increment: permanence("permanence_increment")?,
            decrement: permanence("permanence_decrement")?,
            predicted_decrement: permanence("predicted_decrement")?,
            max_per_cell: arguments.size("max_segments_per_cell")?,
            max_synapses: arguments.size("max_synapses")?,
            max_segments: arguments.size("max_segments")?,
            seed: arguments.integer("seed")? as u64,
        };
        settings.checked(NAME)
    }

    pub fn checked(self, who: &str) -> Result<Self> {
        let refuse =
            |what: &str, most: usize, got: usize| Err(Fault::value(format!("{who}: {what}, {most}, got {got}")));
        if self.n_columns * self.cells_per_column > MOST_CELLS {
            let most = MOST_CELLS / self.cells_per_column;
            return refuse("n_columns must be at most 2^24 / cells_per_column", most, self.n_columns);
        }
        let (activation, least) = (usize::from(self.activation_threshold), usize::from(self.min_threshold));
        if least > activation {
            return refuse("min_threshold must be at most activation_threshold", activation, least);
        }
        if activation > self.max_synapses {
            return refuse("activation_threshold must be at most max_synapses", self.max_synapses, activation);
        }
        Ok(self)
    }
}

/// A segment with enough synapses from active cells.
#[derive(Clone, Copy, Debug)]
struct Match {
    cell: u32,
    segment: u32,
    /// Number of synapses from active cells.
    overlap: u16,
    is_active: bool,
}

#[derive(Clone)]
pub struct Memory {
    settings: Settings,
    segments: Segments,
    random: Random,
    /// Cells of the last row, ascending.
    active: Vec<u32>,
    winners: Vec<u32>,
    /// Whether there was a last row.
    continues: bool,
    /// Active cells as a set; the segments that they match, by cell and segment; the columns that these predict. Follow
    /// from the active cells.
    is_active: CellSet,
    matches: Vec<Match>,
    predicted: CellSet,
    predicted_columns: Vec<u32>,
    /// By segment, twice: connected synapses from active cells, and all of them. 0 between rows.
    counts: Vec<[u16; 2]>,
    touched: Vec<u32>,
    next_active: Vec<u32>,
    next_winners: Vec<u32>,
    candidates: Vec<u32>,
    known: CellSet,
}

#[derive(Serialize, Deserialize)]
pub struct SavedMemory {
    segments: SavedSegments,
    random: Random,
    active: Vec<u32>,
    winners: Vec<u32>,
    continues: bool,
}

impl Memory {
    pub fn new(settings: Settings) -> Self {
        let n_cells = settings.n_columns * settings.cells_per_column;
        let bounds = Bounds {
            n_cells,
            max_per_cell: settings.max_per_cell,
            max_segments: settings.max_segments,
            max_synapses: settings.max_synapses,
            connected: settings.connected,
        };
        Memory {
            settings,
            segments: Segments::new(bounds),
            random: Random::new(settings.seed, CELLS),
            active: Vec::new(),
            winners: Vec::new(),
            continues: false,
            is_active: CellSet::new(n_cells),
            matches: Vec::new(),
            predicted: CellSet::new(settings.n_columns),
            predicted_columns: Vec::new(),
            counts: Vec::new(),
            touched: Vec::new(),
            next_active: Vec::new(),
            next_winners: Vec::new(),
            candidates: Vec::new(),
            known: CellSet::new(n_cells),
        }
    }

    /// Whether there is a last row, from which the next one can be predicted.
    pub fn continues(&self) -> bool {
        self.continues
    }

    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The fraction of active columns that were not predicted.
    pub fn score(&self, columns: &[u32]) -> f64 {
        if columns.is_empty() || !self.continues {
            return 0.0;
        }
        let hits = columns.iter().filter(|&&column| self.predicted.contains(column)).count();
        1.0 - hits as f64 / columns.len() as f64
    }

    /// Forget the last row, not what was learned: the next one starts a sequence.
    pub fn reset(&mut self) {
        self.active.iter().for_each(|&cell| self.is_active.remove(cell));
        self.active.clear();
        self.winners.clear();
        self.continues = false;
        self.predict();
    }

    /// Learn the active columns of a row, ascending and below `n_columns`.
    pub fn learn(&mut self, columns: &[u32]) {
        self.next_active.clear();
        self.next_winners.clear();
        let matches = std::mem::take(&mut self.matches);
        let clock = self.segments.clock();
        let per_column = self.settings.cells_per_column as u32;
        let mut rest = &matches[..];
        for &column in columns {
            let first = column * per_column;
            let before = rest.partition_point(|found| found.cell < first);
            self.punish(&rest[..before], clock);
            rest = &rest[before..];
            let here = rest.partition_point(|found| found.cell < first + per_column);
            let (found, after) = rest.split_at(here);
            rest = after;
            if found.iter().any(|found| found.is_active) {
                self.activate(found, clock);
            } else {
                self.burst(first, found, clock);
            }
        }
        self.punish(rest, clock);
        self.matches = matches;
        self.active.iter().for_each(|&cell| self.is_active.remove(cell));
        std::mem::swap(&mut self.active, &mut self.next_active);
        std::mem::swap(&mut self.winners, &mut self.next_winners);
        self.active.iter().for_each(|&cell| self.is_active.insert(cell));
        self.continues = true;
        self.predict();
        for found in &self.matches {
            if found.is_active {
                self.segments.touch(found.segment);
            }
        }
    }

    /// A column that was predicted.
    fn activate(&mut self, found: &[Match], clock: u64) {
        for found in found.iter().filter(|found| found.is_active) {
            if self.next_active.last() != Some(&found.cell) {
                self.next_active.push(found.cell);
                self.next_winners.push(found.cell);
            }
            if self.segments.is_since(found.segment, clock) {
                self.reinforce(found);
            }
        }
    }

    /// A column that was not predicted, with matching segments.
    fn burst(&mut self, first: u32, found: &[Match], clock: u64) {
        let cells = first..first + self.settings.cells_per_column as u32;
        self.next_active.extend(cells.clone());
        let alive = found.iter().filter(|found| self.segments.is_since(found.segment, clock));
        // The first one of several.
        let best = alive.copied().reduce(|best, found| if found.overlap > best.overlap { found } else { best });
        if let Some(best) = best {
            self.next_winners.push(best.cell);
            self.reinforce(&best);
            return;
        }
        let fewest = cells.clone().map(|cell| self.segments.count_of(cell)).min().unwrap_or(0);
        let ties = cells.clone().filter(|&cell| self.segments.count_of(cell) == fewest);
        let chosen = self.random.below(ties.clone().count() as u32);
        let winner = ties.clone().nth(chosen as usize).unwrap_or(first);
        self.next_winners.push(winner);
        if !self.winners.is_empty() {
            let segment = self.segments.create(winner);
            self.grow(segment, self.settings.new_synapses);
        }
    }

    fn reinforce(&mut self, found: &Match) {
        let Settings { increment, decrement, new_synapses, .. } = self.settings;
        self.segments.adapt(found.segment, &self.is_active, increment, -decrement);
        if self.segments.cell(found.segment) == found.cell {
            self.grow(found.segment, new_synapses.saturating_sub(usize::from(found.overlap)));
        }
    }

    fn punish(&mut self, found: &[Match], clock: u64) {
        let decrement = self.settings.predicted_decrement;
        if decrement > 0.0 {
            for found in found {
                if self.segments.is_since(found.segment, clock) {
                    self.segments.adapt(found.segment, &self.is_active, -decrement, 0.0);
                }
            }
        }
    }

    /// Connect a segment with up to `due` of the last winners, drawn at random.
    fn grow(&mut self, segment: u32, due: usize) {
        if due == 0 {
            return;
        }
        let Memory { segments, known, candidates, winners, random, .. } = self;
        segments.sources(segment).iter().for_each(|&source| known.insert(source));
        candidates.clear();
        candidates.extend(winners.iter().filter(|&&cell| !known.contains(cell)));
        segments.sources(segment).iter().for_each(|&source| known.remove(source));
        let due = due.min(candidates.len());
        for drawn in 0..due {
            let other = drawn + random.below((candidates.len() - drawn) as u32) as usize;
            candidates.swap(drawn, other);
        }
        segments.connect(segment, &candidates[..due], self.settings.initial);
    }

    /// Find the segments that the active cells match, and the columns that they predict.
    fn predict(&mut self) {
        let Settings { activation_threshold, min_threshold, cells_per_column, .. } = self.settings;
        let Memory { segments, active, counts, touched, matches, predicted, predicted_columns, .. } = self;
        counts.resize(segments.end(), [0; 2]);
        touched.clear();
        for &cell in active.iter() {
            for &entry in segments.reached_from(cell) {
                let [connected, all] = &mut counts[(entry >> 1) as usize];
                *connected += (entry & 1) as u16;
                *all += 1;
                // Only those that match are looked at again.
                if *all == min_threshold {
                    touched.push(entry >> 1);
                }
            }
        }
        matches.clear();
        for &segment in touched.iter() {
            let [connected, overlap] = counts[segment as usize];
            let is_active = connected >= activation_threshold;
            matches.push(Match { cell: segments.cell(segment), segment, overlap, is_active });
        }
        counts.fill([0; 2]);
        matches.sort_unstable_by_key(|found| (found.cell, found.segment));
        predicted_columns.iter().for_each(|&column| predicted.remove(column));
        predicted_columns.clear();
        for found in matches.iter().filter(|found| found.is_active) {
            let column = found.cell / cells_per_column as u32;
            if predicted_columns.last() != Some(&column) {
                predicted_columns.push(column);
                predicted.insert(column);
            }
        }
    }

    pub fn save(&self) -> SavedMemory {
        SavedMemory {
            segments: self.segments.save(),
            random: self.random.clone(),
            active: self.active.clone(),
            winners: self.winners.clone(),
            continues: self.continues,
        }
    }

    /// The memory with a saved state.
    pub fn loaded(&self, who: &str, saved: SavedMemory) -> Result<Memory> {
        let mut memory = Memory::new(self.settings);
        let n_cells = (self.settings.n_columns * self.settings.cells_per_column) as u32;
        for cells in [&saved.active, &saved.winners] {
            let ascending = cells.windows(2).all(|pair| pair[0] < pair[1]);
            let known = cells.last().is_none_or(|&cell| cell < n_cells);
            require(who, ascending && known, "an active cell is unknown")?;
        }
        memory.segments = self.segments.loaded(who, &saved.segments)?;
        (memory.random, memory.continues) = (saved.random, saved.continues);
        (memory.active, memory.winners) = (saved.active, saved.winners);
        for &cell in &memory.active {
            memory.is_active.insert(cell);
        }
        memory.predict();
        Ok(memory)
    }

    pub fn memory(&self) -> usize {
        let words = self.active.capacity()
            + self.winners.capacity()
            + self.predicted_columns.capacity()
            + self.touched.capacity()
            + self.next_active.capacity()
            + self.next_winners.capacity()
            + self.candidates.capacity()
            + self.counts.capacity();
        let sets = self.is_active.memory() + self.predicted.memory() + self.known.memory();
        self.segments.memory() + 4 * words + sets + std::mem::size_of::<Match>() * self.matches.capacity()
    }

    pub fn inspect(&self) -> serde_json::Value {
        json!({
            "n_segments": self.segments.count(),
            "n_synapses": self.segments.n_synapses(),
            "evictions": self.segments.evictions(),
            "n_active_cells": self.active.len(),
            "n_predicted_columns": self.predicted_columns.len(),
        })
    }
}

#[derive(Clone)]
struct TemporalMemory {
    memory: Memory,
    columns: Vec<u32>,
}

impl TemporalMemory {
    fn examine(&self, columns: &[u32]) -> Result<()> {
        let n_columns = self.memory.settings.n_columns;
        match columns.last() {
            Some(&last) if last as usize >= n_columns => Err(Fault::value(format!(
                "{NAME}: active bits must be in the first n_columns, {n_columns}, got bit {last}"
            ))),
            _ => Ok(()),
        }
    }
}

impl Part for TemporalMemory {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.memory.save())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory = self.memory.loaded(NAME, unpack(NAME, bytes)?)?;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.memory.memory() + 4 * self.columns.capacity()
    }

    fn abilities(&self) -> Abilities {
        Abilities { checks_rows: true, missing_is_zero: true, ..Abilities::default() }
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        if x.width() <= self.memory.settings.n_columns {
            return Ok(());
        }
        let mut columns = scratch.take_indices();
        active_bits(x, &mut columns);
        let checked = self.examine(&columns);
        scratch.give_indices(columns);
        checked
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        self.memory.inspect()
    }
}

impl Learner<Anomalies> for TemporalMemory {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        let mut columns = scratch.take_indices();
        active_bits(x, &mut columns);
        columns.retain(|&column| (column as usize) < self.memory.settings.n_columns);
        *out = self.memory.score(&columns);
        scratch.give_indices(columns);
    }

    fn learn(&mut self, x: Row<'_>, _y: (), _w: f64, _scratch: &mut Scratch) -> Result<()> {
        let mut columns = std::mem::take(&mut self.columns);
        active_bits(x, &mut columns);
        let examined = self.examine(&columns);
        if examined.is_ok() {
            self.memory.learn(&columns);
        }
        self.columns = columns;
        examined
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            n_columns: 4,
            cells_per_column: 2,
            activation_threshold: 1,
            min_threshold: 1,
            new_synapses: 2,
            initial: 0.5,
            connected: 0.5,
            increment: 0.125,
            decrement: 0.25,
            predicted_decrement: 0.0625,
            max_per_cell: 2,
            max_synapses: 4,
            max_segments: 10,
            seed: 1,
        }
    }

    /// Columns 0, 1, 0, 1 with two cells each, every synapse connected at once. At the first row column 0 bursts, a cell a
    /// of it wins, and there is nothing to connect with. At the second, column 1 bursts: its winner b gets a segment with a
    /// synapse from a. At the third, column 0 bursts: all its cells are without segments or one is drawn, c, which gets a
    /// segment from b. Both cells of column 0 are active, so a is, and b is predicted: the fourth row scores 0, only b is
    /// active, its synapse grows to 0.625, and b predicts column 0 through the segment of c.
    #[test]
    fn a_sequence_by_hand() {
        let mut memory = Memory::new(settings());
        assert_eq!(memory.score(&[0]), 0.0);
        memory.learn(&[0]);
        assert_eq!((memory.active.clone(), memory.winners.len(), memory.segments.count()), (vec![0, 1], 1, 0));
        let a = memory.winners[0];
        assert_eq!(memory.score(&[1]), 1.0);
        memory.learn(&[1]);
        let b = memory.winners[0];
        assert_eq!((memory.active.clone(), memory.segments.count(), memory.segments.cell(0)), (vec![2, 3], 1, b));
        assert_eq!(memory.segments.sources(0), [a]);
        memory.learn(&[0]);
        let c = memory.winners[0];
        assert_eq!((memory.segments.cell(1), memory.segments.sources(1)), (c, &[b][..]));
        assert_eq!((memory.score(&[1]), memory.score(&[2]), memory.score(&[1, 2])), (0.0, 1.0, 0.5));
        memory.learn(&[1]);
        assert_eq!(memory.active, [b]);
        assert_eq!((memory.score(&[0]), memory.predicted_columns.clone()), (0.0, vec![0]));
        // Column 3 comes in place of 0: the segment of c shrinks from 0.5 to 0.4375, and is no longer connected.
        memory.learn(&[3]);
        assert_eq!(memory.segments.reached_from(b).first(), Some(&(1 << 1)));
    }

    /// Rows A B C D and X B C Y, again and again: after both, cells of B and C differ by what came before, so that D is
    /// predicted after A B C and Y after X B C.
    #[test]
    fn it_tells_sequences_apart_by_what_came_before() {
        let settings = Settings {
            n_columns: 60,
            cells_per_column: 8,
            activation_threshold: 6,
            min_threshold: 4,
            new_synapses: 10,
            initial: 0.3,
            max_per_cell: 16,
            max_synapses: 20,
            max_segments: 2000,
            ..settings()
        };
        let mut memory = Memory::new(settings);
        let columns = |letter: u32| (10 * letter..10 * letter + 10).collect::<Vec<u32>>();
        let [a, b, c, d, x, y] = [0, 1, 2, 3, 4, 5].map(columns);
        for _ in 0..30 {
            for sequence in [[&a, &b, &c, &d], [&x, &b, &c, &y]] {
                memory.reset();
                sequence.iter().for_each(|row| memory.learn(row));
            }
        }
        for (start, next, other) in [(&a, &d, &y), (&x, &y, &d)] {
            memory.reset();
            for row in [start, &b, &c] {
                memory.learn(row);
            }
            assert_eq!((memory.score(next), memory.score(other)), (0.0, 1.0));
        }
    }

    #[test]
    fn a_saved_memory_continues_and_stays_within_its_bounds() {
        let settings = Settings { max_segments: 7, activation_threshold: 2, ..settings() };
        let mut memory = Memory::new(settings);
        let mut random = Random::new(3, 3);
        for row in 0..400 {
            let columns: Vec<u32> = (0..4).filter(|_| random.chance(0.6)).collect();
            let mut loaded = memory.loaded(NAME, memory.save()).unwrap();
            assert_eq!(loaded.score(&columns), memory.score(&columns));
            loaded.learn(&columns);
            memory.learn(&columns);
            assert!(pack(&loaded.save()).unwrap() == pack(&memory.save()).unwrap(), "row {row}");
            assert!(memory.segments.count() <= 7);
        }
        assert!(memory.segments.evictions() > 0);
    }
}
