//! A spatial pooler: columns that compete for the active bits of a row (Cui, Ahmad and Hawkins, 2017, "The HTM spatial
//! pooler: a neocortical algorithm for online sparse distributed coding").
//!
//! Column i may have synapses with a random fraction of the inputs (eq. 1). A synapse of permanence P is connected if
//! P ≥ θ; permanences start uniform around θ, half of them connected (eq. 2). With connections W and active inputs z,
//!
//! ```text
//! o_i = b_i Σ_j W_ij z_j                                     overlap, eq. 3
//! ```
//!
//! and the s columns of the largest overlap are active, if it is large enough (eq. 4, with global inhibition). The
//! permanences of an active column grow by p⁺ at active inputs and shrink by p⁻ at others, within [0, 1]. With boosting,
//! b_i = exp(−β(a_i − s/n)) (eq. 7), a_i the moving average of the activity of column i (eq. 5): columns that are seldom
//! active get a larger share. Ties are decided by a random order of the columns.
//!
//! Permanences are stored by column, connections by input: learning walks along columns, and overlaps along inputs.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::elementary::exp;
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::{Transformer, Zeros};

use super::bits::{active_bits, numbered, write_bits};

const NAME: &str = "htm.SpatialPooler";
/// Permanences of all columns: half a gigabyte.
const MOST_SYNAPSES: usize = 1 << 27;
/// The permanence of an input that a column has no synapse with.
const NONE: f32 = -1.0;
/// Purposes of the seed: the order of the columns, and the synapses of an input, which adds its index.
const ORDER: u64 = 1 << 40;

pub const N_COLUMNS: Parameter = Parameter::new(
    "n_columns",
    Kind::Integer { low: 1, high: 1 << 20 },
    DefaultValue::Integer(2048),
    "number of columns",
);
pub const ACTIVE_COLUMNS: Parameter = Parameter::new(
    "active_columns",
    Kind::Integer { low: 1, high: 1 << 16 },
    DefaultValue::Integer(40),
    "number of columns that are active at a row",
);
pub const SEED: Parameter =
    Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, DefaultValue::Integer(1), "random seed");

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Columns that learn to represent rows of bits, a fixed number of them active",
    merge: Merge::ORDER,
    parameters: &[
        N_COLUMNS,
        ACTIVE_COLUMNS,
        Parameter::new(
            "potential_fraction",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(0.8),
            "fraction of the inputs that a column may have synapses with",
        ),
        Parameter::new(
            "permanence_increment",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.003),
            "growth of the synapses of an active column with active inputs",
        ),
        Parameter::new(
            "permanence_decrement",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.0005),
            "decay of the synapses of an active column with other inputs",
        ),
        Parameter::new(
            "connected_permanence",
            Kind::Float(Bounds::OPEN_UNIT),
            DefaultValue::Float(0.2),
            "lowest permanence of a connected synapse",
        ),
        Parameter::new(
            "min_overlap",
            Kind::Integer { low: 1, high: 1 << 20 },
            DefaultValue::Integer(1),
            "lowest number of connected active inputs of an active column",
        ),
        Parameter::new(
            "boost_strength",
            Kind::Float(Bounds::new(0.0, true, 100.0, true)),
            DefaultValue::Float(0.0),
            "how much seldom active columns are preferred; 0 for no boosting",
        ),
        Parameter::new(
            "boost_period",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(1000),
            "number of rows over which the activity of columns is averaged",
        ),
        SEED,
    ],
    build: |arguments| {
        let pooler = Pooler::new(Settings::new(arguments)?);
        Ok(Built::Transformer(Box::new(SpatialPooler { pooler, bits: Vec::new(), undo: None })))
    },
};

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub n_columns: usize,
    pub active_columns: usize,
    pub potential_fraction: f64,
    pub increment: f32,
    pub decrement: f32,
    pub connected: f32,
    pub min_overlap: u32,
    pub boost_strength: f64,
    pub boost_period: u64,
    pub seed: u64,
}

impl Settings {
    fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let settings = Settings {
            n_columns: arguments.size("n_columns")?,
            active_columns: arguments.size("active_columns")?,
            potential_fraction: arguments.float("potential_fraction")?,
            increment: arguments.float("permanence_increment")? as f32,
            decrement: arguments.float("permanence_decrement")? as f32,
            connected: arguments.float("connected_permanence")? as f32,
            min_overlap: arguments.size("min_overlap")? as u32,
            boost_strength: arguments.float("boost_strength")?,
            boost_period: arguments.size("boost_period")? as u64,
            seed: arguments.integer("seed")? as u64,
        };
        settings.checked(NAME)
    }

    pub fn checked(self, who: &str) -> Result<Self> {
        if self.active_columns > self.n_columns {
            return Err(Fault::value(format!(
                "{who}: active_columns must be at most n_columns, {}, got {}",
                self.n_columns, self.active_columns
            )));
        }
        Ok(self)
    }
}

#[derive(Clone)]
pub struct Pooler {
    settings: Settings,
    n_inputs: usize,
    /// By column and input, `NONE` where there is no synapse.
    permanences: Vec<f32>,
    /// By input and column: 1 if connected. Follows from the permanences.
    connections: Vec<u8>,
    /// Number of learned rows and activity by column; empty without boosting.
    rows: u64,
    activity: Vec<f64>,
    /// b by column. Follows from the activity.
    boosts: Vec<f32>,
    /// The random order of the columns, and its inverse. Follow from the seed.
    ranks: Vec<u32>,
    columns: Vec<u32>,
    /// The change of permanence by input, for one row.
    changes: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
pub struct SavedPooler {
    n_inputs: usize,
    permanences: ByteBuf,
    rows: u64,
    activity: Vec<f64>,
}

impl SavedPooler {
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }
}

/// What leads back to the state before the last row.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    n_inputs: usize,
    active: Vec<u32>,
    permanences: Vec<f32>,
    rows: u64,
    activity: Vec<f64>,
}

impl Pooler {
    pub fn new(settings: Settings) -> Self {
        let mut columns: Vec<u32> = (0..settings.n_columns as u32).collect();
        let mut random = Random::new(settings.seed, ORDER);
        for last in (1..columns.len()).rev() {
            columns.swap(last, random.below(last as u32 + 1) as usize);
        }
        let mut ranks = vec![0; columns.len()];
        columns.iter().enumerate().for_each(|(rank, &column)| ranks[column as usize] = rank as u32);
        Pooler {
            settings,
            n_inputs: 0,
            permanences: Vec::new(),
            connections: Vec::new(),
            rows: 0,
            activity: Vec::new(),
            boosts: Vec::new(),
            ranks,
            columns,
            changes: Vec::new(),
        }
    }

    pub fn examine(&self, who: &str, n_inputs: usize) -> Result<()> {
        let most = MOST_SYNAPSES / self.settings.n_columns;
        match n_inputs <= most {
            true => Ok(()),
            false => Err(Fault::value(format!(
                "{who}: supports up to {most} bits with {} columns, got {n_inputs}",
                self.settings.n_columns
            ))),
        }
    }

    /// Have so many inputs. Those that are new get their synapses, which depend on the seed and their index alone.
    pub fn resize(&mut self, n_inputs: usize) {
        let (n, before) = (self.settings.n_columns, self.n_inputs);
        if n_inputs == before {
            return;
        }
        let kept = before.min(n_inputs);
        let mut permanences = vec![NONE; n * n_inputs];
        for column in 0..n {
            let from = &self.permanences[column * before..][..kept];
            permanences[column * n_inputs..][..kept].copy_from_slice(from);
        }
        self.connections.resize(n * n_inputs, 0);
        for input in kept..n_inputs {
            let mut random = Random::new(self.settings.seed, input as u64);
            for column in 0..n {
                if !random.chance(self.settings.potential_fraction) {
                    continue;
                }
                let (threshold, drawn) = (self.settings.connected, random.unit() as f32);
                let connects = random.chance(0.5);
                let start = if connects { threshold + (1.0 - threshold) * drawn } else { threshold * drawn };
                permanences[column * n_inputs + input] = start;
                self.connections[input * n + column] = u8::from(start >= threshold);
            }
        }
        (self.permanences, self.n_inputs) = (permanences, n_inputs);
    }

    /// The active columns for active bits, both ascending. Bits without synapses do not count.
    pub fn activate(&self, bits: &[u32], scratch: &mut Scratch, active: &mut Vec<u32>) {
        let n = self.settings.n_columns;
        let mut overlaps = scratch.take_indices();
        overlaps.resize(n, 0);
        for &bit in bits.iter().take_while(|&&bit| (bit as usize) < self.n_inputs) {
            let connected = &self.connections[bit as usize * n..][..n];
            overlaps.iter_mut().zip(connected).for_each(|(overlap, &connected)| *overlap += u32::from(connected));
        }
        self.select(&overlaps, active);
        scratch.give_indices(overlaps);
    }

    /// The columns of the largest boosted overlaps.
    fn select(&self, overlaps: &[u32], active: &mut Vec<u32>) {
        active.clear();
        let (min_overlap, most) = (self.settings.min_overlap, self.settings.active_columns);
        if self.boosts.is_empty() {
            // Count from the top to the overlap of the last active column; of equal ones, the first in rank are active.
            let highest = overlaps.iter().copied().max().unwrap_or(0);
            if highest < min_overlap {
                return;
            }
            let mut least = highest;
            let mut above = 0;
            loop {
                let here = overlaps.iter().map(|&overlap| u32::from(overlap == least)).sum::<u32>() as usize;
                if above + here >= most || least == min_overlap {
                    break;
                }
                above += here;
                least -= 1;
            }
            active.extend((0..overlaps.len() as u32).filter(|&column| overlaps[column as usize] > least));
            let due = most - active.len();
            let tied = |&&column: &&u32| overlaps[column as usize] == least;
            active.extend(self.columns.iter().filter(tied).take(due));
        } else {
            let boosted = |column: u32| overlaps[column as usize] as f32 * self.boosts[column as usize];
            active.extend((0..overlaps.len() as u32).filter(|&column| overlaps[column as usize] >= min_overlap));
            if active.len() > most {
                active.select_nth_unstable_by(most - 1, |&a, &b| {
                    let ranks = || self.ranks[a as usize].cmp(&self.ranks[b as usize]);
                    boosted(b).total_cmp(&boosted(a)).then_with(ranks)
                });
                active.truncate(most);
            }
        }
        active.sort_unstable();
    }

    /// Move the synapses of the active columns. `undo` receives what leads back, if it is given.
    pub fn learn(&mut self, bits: &[u32], active: &[u32], undo: Option<&mut Undo>) {
        let Settings { n_columns: n, increment, decrement, connected, .. } = self.settings;
        let n_inputs = self.n_inputs;
        if let Some(undo) = undo {
            undo.active.clear();
            undo.active.extend_from_slice(active);
            undo.permanences.clear();
            for &column in active {
                undo.permanences.extend_from_slice(&self.permanences[column as usize * n_inputs..][..n_inputs]);
            }
            undo.rows = self.rows;
            undo.activity.clone_from(&self.activity);
        }
        self.changes.clear();
        self.changes.resize(n_inputs, -decrement);
        for &bit in bits.iter().take_while(|&&bit| (bit as usize) < n_inputs) {
            self.changes[bit as usize] = increment;
        }
        for &column in active {
            let permanences = &mut self.permanences[column as usize * n_inputs..][..n_inputs];
            for (input, (permanence, change)) in permanences.iter_mut().zip(&self.changes).enumerate() {
                let before = *permanence;
                let after = if before < 0.0 { before } else { (before + change).clamp(0.0, 1.0) };
                *permanence = after;
                if (before >= connected) != (after >= connected) {
                    self.connections[input * n + column as usize] = u8::from(after >= connected);
                }
            }
        }
        if self.settings.boost_strength > 0.0 {
            self.rows = self.rows.saturating_add(1);
            self.activity.resize(n, 0.0);
            let period = self.rows.min(self.settings.boost_period) as f64;
            self.activity.iter_mut().for_each(|activity| *activity *= (period - 1.0) / period);
            active.iter().for_each(|&column| self.activity[column as usize] += 1.0 / period);
            self.boost();
        }
    }

    fn boost(&mut self) {
        let target = self.settings.active_columns as f64 / self.settings.n_columns as f64;
        let strength = self.settings.boost_strength;
        self.boosts.clear();
        self.boosts
            .extend(self.activity.iter().map(|activity| exp(-strength * (activity - target)).min(1e30) as f32));
    }

    /// Return to the state before the last row.
    fn revert(&mut self, undo: &Undo) {
        let Settings { n_columns: n, connected, .. } = self.settings;
        let n_inputs = self.n_inputs;
        for (place, &column) in undo.active.iter().enumerate() {
            let from = &undo.permanences[place * n_inputs..][..n_inputs];
            self.permanences[column as usize * n_inputs..][..n_inputs].copy_from_slice(from);
            for (input, &permanence) in from.iter().enumerate() {
                self.connections[input * n + column as usize] = u8::from(permanence >= connected);
            }
        }
        self.rows = undo.rows;
        self.activity.clone_from(&undo.activity);
        self.boost();
        self.resize(undo.n_inputs);
    }

    pub fn save(&self) -> SavedPooler {
        let permanences: Vec<u8> =
            self.permanences.iter().flat_map(|permanence| permanence.to_le_bytes()).collect();
        SavedPooler {
            n_inputs: self.n_inputs,
            permanences: ByteBuf::from(permanences),
            rows: self.rows,
            activity: self.activity.clone(),
        }
    }

    /// The pooler with a saved state.
    pub fn loaded(&self, who: &str, saved: &SavedPooler) -> Result<Pooler> {
        let n = self.settings.n_columns;
        require(who, saved.n_inputs <= MOST_SYNAPSES / n, "too many inputs")?;
        require(who, saved.permanences.len() == 4 * n * saved.n_inputs, "permanences are missing")?;
        let boosted = self.settings.boost_strength > 0.0 && saved.rows > 0;
        require(who, saved.activity.len() == if boosted { n } else { 0 }, "the activity of a column is missing")?;
        let sound = saved.activity.iter().all(|activity| (0.0..=1.0 + 1e-9).contains(activity));
        require(who, sound && (boosted || saved.rows == 0), "the activity of a column is out of range")?;
        let mut pooler = Pooler::new(self.settings);
        pooler.n_inputs = saved.n_inputs;
        pooler.permanences = (saved.permanences.chunks_exact(4))
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let sound = |&permanence: &f32| permanence == NONE || (0.0..=1.0).contains(&permanence);
        require(who, pooler.permanences.iter().all(sound), "a permanence is out of range")?;
        pooler.connections = vec![0; n * saved.n_inputs];
        for column in 0..n {
            for input in 0..saved.n_inputs {
                let permanence = pooler.permanences[column * saved.n_inputs + input];
                pooler.connections[input * n + column] = u8::from(permanence >= self.settings.connected);
            }
        }
        (pooler.rows, pooler.activity) = (saved.rows, saved.activity.clone());
        pooler.boost();
        Ok(pooler)
    }

    pub fn memory(&self) -> usize {
        let numbers = self.permanences.capacity() + self.boosts.capacity() + self.changes.capacity();
        let columns = self.ranks.capacity() + self.columns.capacity();
        4 * (numbers + columns) + self.connections.capacity() + 8 * self.activity.capacity()
    }

    /// Number of connected synapses.
    pub fn n_connected(&self) -> usize {
        self.connections.iter().map(|&connected| usize::from(connected)).sum()
    }

    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }
}

#[derive(Clone)]
struct SpatialPooler {
    pooler: Pooler,
    bits: Vec<u32>,
    undo: Option<Box<Undo>>,
}

impl Part for SpatialPooler {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.pooler.save())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let saved: SavedPooler = unpack(NAME, bytes)?;
        self.pooler = self.pooler.loaded(NAME, &saved)?;
        self.undo = None;
        Ok(())
    }

    fn memory(&self) -> usize {
        let undo = self.undo.as_ref().map_or(0, |undo| {
            4 * (undo.active.capacity() + undo.permanences.capacity()) + 8 * undo.activity.capacity()
        });
        std::mem::size_of::<Self>() + self.pooler.memory() + 4 * self.bits.capacity() + undo
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "n_inputs": self.pooler.n_inputs(), "n_connected": self.pooler.n_connected() })
    }
}

impl Transformer for SpatialPooler {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let (mut bits, mut active) = (scratch.take_indices(), scratch.take_indices());
        active_bits(x, &mut bits);
        self.pooler.activate(&bits, scratch, &mut active);
        write_bits(&active, self.pooler.settings.n_columns, out);
        scratch.give_indices(bits);
        scratch.give_indices(active);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        self.pooler.examine(NAME, x.width())?;
        let n_inputs = self.pooler.n_inputs;
        self.pooler.resize(n_inputs.max(x.width()));
        active_bits(x, &mut self.bits);
        let mut active = scratch.take_indices();
        self.pooler.activate(&self.bits, scratch, &mut active);
        let undo = self.undo.get_or_insert_default();
        undo.n_inputs = n_inputs;
        self.pooler.learn(&self.bits, &active, Some(undo));
        scratch.give_indices(active);
        Ok(())
    }

    fn undo(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.pooler.revert(&undo);
            self.undo = Some(undo);
        }
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::OmittedInDicts
    }

    fn output(&self, _input: &Schema) -> Schema {
        numbered(self.pooler.settings.n_columns)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            n_columns: 4,
            active_columns: 2,
            potential_fraction: 1.0,
            increment: 0.25,
            decrement: 0.125,
            connected: 0.5,
            min_overlap: 1,
            boost_strength: 0.0,
            boost_period: 10,
            seed: 1,
        }
    }

    /// Four columns of three inputs with these permanences, θ = 0.5:
    ///
    ///            input 0   1      2        at inputs 0 and 1
    /// column 0      0.5    0.75   0.25     overlap 2
    /// column 1      0.5    0.25   none     overlap 1
    /// column 2      0.25   0.375  1        overlap 0
    /// column 3      1      0.5    0.5      overlap 2
    fn pooler() -> Pooler {
        let mut pooler = Pooler::new(settings());
        let permanences: [f32; 12] = [0.5, 0.75, 0.25, 0.5, 0.25, NONE, 0.25, 0.375, 1.0, 1.0, 0.5, 0.5];
        let bytes: Vec<u8> = permanences.iter().flat_map(|permanence| permanence.to_le_bytes()).collect();
        let saved = SavedPooler { n_inputs: 3, permanences: ByteBuf::from(bytes), rows: 0, activity: Vec::new() };
        pooler = pooler.loaded(NAME, &saved).unwrap();
        pooler
    }

    /// Columns 0 and 3 win. Column 0 becomes 0.75, 1, 0.125; column 3 stays 1 where it is full, then 0.75, 0.375, which
    /// disconnects input 2: at input 2 alone, columns 2 (overlap 1) is then the only one.
    #[test]
    fn one_step_worked_by_hand() {
        let (mut pooler, mut scratch, mut active) = (pooler(), Scratch::default(), Vec::new());
        pooler.activate(&[0, 1], &mut scratch, &mut active);
        assert_eq!(active, [0, 3]);
        pooler.activate(&[2], &mut scratch, &mut active);
        assert_eq!(active, [2, 3]);
        let (before, mut undo) = (pooler.save(), Undo { n_inputs: 3, ..Undo::default() });
        pooler.learn(&[0, 1], &[0, 3], Some(&mut undo));
        assert_eq!(pooler.permanences, [0.75, 1.0, 0.125, 0.5, 0.25, NONE, 0.25, 0.375, 1.0, 1.0, 0.75, 0.375]);
        pooler.activate(&[2], &mut scratch, &mut active);
        assert_eq!(active, [2]);
        pooler.revert(&undo);
        assert!(pooler.save().permanences == before.permanences);
        pooler.activate(&[2], &mut scratch, &mut active);
        assert_eq!(active, [2, 3]);
    }

    /// β = 2 and one active column of four: the target is 1/4. After one row with columns 0 and 3 active, their activity is
    /// 1 and that of the others 0, so b = e^(−2 · 3/4) for 0 and 3, and e^(2/4) for 1 and 2. At input 0 all but column 2
    /// have overlap 1, and column 1 wins.
    #[test]
    fn boosting_prefers_columns_that_were_not_active() {
        let mut pooler = pooler();
        pooler.settings.boost_strength = 2.0;
        pooler.settings.active_columns = 1;
        pooler.learn(&[], &[0, 3], None);
        let near = |a: f32, b: f64| assert!((f64::from(a) - b).abs() < 1e-6);
        near(pooler.boosts[0], exp(-1.5));
        near(pooler.boosts[1], exp(0.5));
        let (mut scratch, mut active) = (Scratch::default(), Vec::new());
        pooler.activate(&[0], &mut scratch, &mut active);
        assert_eq!(active, [1]);
    }

    #[test]
    fn inputs_that_appear_and_are_undone() {
        let settings = Settings { n_columns: 50, active_columns: 5, ..settings() };
        let mut part = SpatialPooler { pooler: Pooler::new(settings), bits: Vec::new(), undo: None };
        let mut scratch = Scratch::default();
        for row in 0..30usize {
            let x: Vec<f64> =
                (0..6 + row / 3).map(|slot| f64::from(u8::from((slot * 7 + row) % 3 == 0))).collect();
            let before = part.save().unwrap();
            part.learn(Row::Plain(&x), Truth::None, 1.0, &mut scratch).unwrap();
            part.undo();
            assert!(part.save().unwrap() == before, "row {row}");
            part.learn(Row::Plain(&x), Truth::None, 1.0, &mut scratch).unwrap();
            let mut active = Vec::new();
            part.pooler.activate(&[0, 3], &mut scratch, &mut active);
            assert!(active.len() <= 5 && active.is_sorted());
            // Connections follow from permanences.
            let loaded = part.pooler.loaded(NAME, &part.pooler.save()).unwrap();
            assert!(loaded.connections == part.pooler.connections);
        }
    }
}
