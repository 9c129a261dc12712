//! An anomaly detector of hierarchical temporal memory: encoders, spatial pooler, temporal memory and anomaly likelihood in
//! one (Ahmad, Lavin, Purdy and Agha, 2017, "Unsupervised real-time anomaly detection for streaming data").
//!
//! A number x of a feature activates the random code of bucket ⌊(x − low)/r⌋ (`bits::push_bucket`), which has no range to
//! leave. The resolution r is 1.4 (high − low)/`n_buckets`, from the declared limits or from the first
//! `calibration_period` values. A nominal value has a random code too, and the time the code of `clock`. Features are
//! encoded in the same bits, by hashes of their names.
//!
//! As in the detector of the Numenta anomaly benchmark, a number far outside the range so far has score 1. Time must not run
//! backwards. After a gap in time, or a row without a value, the sequence starts anew: what was learned stays.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::limits::Limits;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::preprocessing::tokens::{hash_64, Tokens};
use crate::row::{finite, Row, Scratch, Value, Want};
use crate::schema::{Name, Schema};
use crate::task::Anomalies;

use super::anomaly_likelihood::{
    Likelihood, Settings as LikelihoodSettings, State as LikelihoodState, GRACE_PERIOD, MIN_SAMPLES, ONSETS_ONLY,
    REFRESH_INTERVAL, SCALE, SMOOTHING_WINDOW, WINDOW_SIZE,
};
use super::bits::{mixed, push_bucket, settle};
use super::clock::Clock;
use super::scalar_encoder::N_ACTIVE;
use super::spatial_pooler::{Pooler, SavedPooler, Settings as PoolerSettings, ACTIVE_COLUMNS, N_COLUMNS, SEED};
use super::temporal_memory::{
    Memory, SavedMemory, Settings as MemorySettings, ACTIVATION_THRESHOLD, CELLS_PER_COLUMN, MAX_SEGMENTS,
    MAX_SEGMENTS_PER_CELL, MAX_SYNAPSES, MIN_THRESHOLD, NEW_SYNAPSES,
};

pub const NAME: &str = "htm.HTMAnomaly";
/// How much wider than the range of the calibration the one is that `n_buckets` share.
const PADDING: f64 = 1.4;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::AnomalyDetector,
    words: "Hierarchical temporal memory: scores rows that do not follow from the rows before",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "time",
            Kind::Optional(&Kind::Name),
            DefaultValue::Null,
            "name of the feature with the time: a date, or seconds since 1970",
        ),
        Parameter::new(
            "limits",
            Kind::Optional(&Kind::Limits),
            DefaultValue::Null,
            "ranges of features; of those not named, the range of the first values",
        ),
        Parameter::new(
            "calibration_period",
            Kind::Integer { low: 2, high: 1 << 40 },
            DefaultValue::Integer(100),
            "number of first values that give the range of a feature",
        ),
        Parameter::new(
            "n_buckets",
            Kind::Integer { low: 2, high: 1 << 20 },
            DefaultValue::Integer(130),
            "number of different codes of numbers within a range",
        ),
        Parameter::new(
            "n_bits",
            Kind::Integer { low: 2, high: 1 << 16 },
            DefaultValue::Integer(400),
            "number of bits that encode all features but the time",
        ),
        N_ACTIVE,
        Parameter::new(
            "weekend",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to encode weekends, next to the time of day",
        ),
        Parameter::new(
            "max_gap",
            Kind::Optional(&Kind::Float(Bounds::POSITIVE)),
            DefaultValue::Null,
            "seconds without a row after which the sequence starts anew",
        ),
        Parameter::new(
            "spatial_tolerance",
            Kind::Optional(&Kind::Float(Bounds::NOT_NEGATIVE)),
            DefaultValue::Float(0.05),
            "fraction of the range so far beyond which a number has score 1; None for no such rule",
        ),
        N_COLUMNS,
        ACTIVE_COLUMNS,
        CELLS_PER_COLUMN,
        ACTIVATION_THRESHOLD,
        MIN_THRESHOLD,
        NEW_SYNAPSES,
        MAX_SEGMENTS_PER_CELL,
        MAX_SYNAPSES,
        MAX_SEGMENTS,
        GRACE_PERIOD,
        MIN_SAMPLES,
        WINDOW_SIZE,
        SMOOTHING_WINDOW,
        REFRESH_INTERVAL,
        SCALE,
        ONSETS_ONLY,
        SEED,
    ],
    build: |arguments| {
        let (n_bits, n_active) = (arguments.size("n_bits")? as u32, arguments.size("n_active")? as u32);
        if n_active >= n_bits {
            return Err(Fault::value(format!("{NAME}: n_active must be below n_bits, {n_bits}, got {n_active}")));
        }
        let optional = |name: &str| arguments.value(name).map(serde_json::Value::as_f64);
        let seed = arguments.integer("seed")? as u64;
        let pooler = PoolerSettings {
            n_columns: arguments.size("n_columns")?,
            active_columns: arguments.size("active_columns")?,
            potential_fraction: 0.8,
            increment: 0.003,
            decrement: 0.0005,
            connected: 0.2,
            min_overlap: 1,
            boost_strength: 0.0,
            boost_period: 1000,
            seed,
        };
        let memory = MemorySettings {
            n_columns: arguments.size("n_columns")?,
            cells_per_column: arguments.size("cells_per_column")?,
            activation_threshold: arguments.size("activation_threshold")? as u16,
            min_threshold: arguments.size("min_threshold")? as u16,
            new_synapses: arguments.size("new_synapses")?,
            initial: 0.21,
            connected: 0.5,
            increment: 0.1,
            decrement: 0.1,
            predicted_decrement: 0.001,
            max_per_cell: arguments.size("max_segments_per_cell")?,
            max_synapses: arguments.size("max_synapses")?,
            max_segments: arguments.size("max_segments")?,
            seed,
        };
        let time = arguments.name("time")?;
        let clock = Clock {
            time_of_day: if time.is_some() { n_active } else { 0 },
            weekend: if time.is_some() && arguments.boolean("weekend")? { n_active } else { 0 },
            ..Clock::default()
        };
        let pooler = Pooler::new(pooler.checked(NAME)?);
        pooler.examine(NAME, n_bits as usize + clock.n_bits())?;
        Ok(Built::AnomalyDetector(Box::new(HtmAnomaly {
            encoder: Encoder {
                clock,
                limits: Limits::new(arguments.value("limits")?),
                calibration_period: arguments.size("calibration_period")? as u64,
                n_buckets: arguments.size("n_buckets")? as f64,
                n_bits,
                n_active,
                spatial_tolerance: optional("spatial_tolerance")?,
                seed,
                tokens: Tokens::default(),
                time,
                time_slot: None,
            },
            max_gap: optional("max_gap")?,
            pooler,
            memory: Memory::new(memory.checked(NAME)?),
            likelihood: Likelihood::new(LikelihoodSettings::new(arguments)?),
            context: Context::default(),
            bits: Vec::new(),
            columns: Vec::new(),
        })))
    },
};

/// What is known of the numbers of a feature.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Range {
    count: u64,
    min: f64,
    max: f64,
    /// Where bucket 0 begins, and the width of a bucket; 0 before the calibration.
    low: f64,
    resolution: f64,
}

impl Default for Range {
    fn default() -> Self {
        Range { count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, low: 0.0, resolution: 0.0 }
    }
}

/// The state beside the components.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Context {
    /// By slot; empty ones before a number came.
    ranges: Vec<Range>,
    /// The time of the last learned row.
    time: Option<f64>,
    /// Number of sequences that were cut by a gap or by a row without a value.
    gaps: u64,
}

#[derive(Clone)]
struct Encoder {
    clock: Clock,
    limits: Limits,
    calibration_period: u64,
    n_buckets: f64,
    n_bits: u32,
    n_active: u32,
    spatial_tolerance: Option<f64>,
    seed: u64,
    tokens: Tokens<u64>,
    time: Option<Name>,
    time_slot: Option<u32>,
}

impl Encoder {
    fn n_inputs(&self) -> usize {
        self.n_bits as usize + self.clock.n_bits()
    }

    /// Where bucket 0 of a feature begins, and the width of a bucket.
    fn buckets(&self, slot: usize, ranges: &[Range]) -> Option<(f64, f64)> {
        if let Some((low, high)) = self.limits.of(slot as u32) {
            return Some((low, self.resolution(low, high)));
        }
        ranges.get(slot).filter(|range| range.resolution > 0.0).map(|range| (range.low, range.resolution))
    }

    /// A feature that was constant gets buckets in proportion to its size.
    fn resolution(&self, low: f64, high: f64) -> f64 {
        let width = match high - low {
            width if width > 0.0 => width,
            _ => low.abs().max(1.0),
        };
        finite(PADDING * width / self.n_buckets).max(f64::MIN_POSITIVE)
    }

    /// Write the active bits of a row; returns the number of features that have some, without the time, and whether a
    /// number is far outside its range.
    fn encode(&self, x: Row<'_>, ranges: &[Range], scratch: &mut Scratch, bits: &mut Vec<u32>) -> (usize, bool) {
        bits.clear();
        let (mut encoded, mut is_outside) = (0, false);
        let mut buffer = scratch.take_numbers();
        x.dense(&mut buffer).each(|slot, value| match value {
            Value::Number(time) if self.time_slot == Some(slot as u32) => {
                self.clock.push(time, self.n_bits, bits);
            }
            Value::Number(number) => {
                let (token, buckets) = (self.tokens.number(slot), self.buckets(slot, ranges));
                if let (Some(&token), Some((low, resolution))) = (token, buckets) {
                    // Casts saturate, and what is not a number is bucket 0.
                    let bucket = ((number - low) / resolution).floor() as i64;
                    push_bucket(mixed(token, self.seed), bucket, self.n_active, self.n_bits, bits);
                    encoded += 1;
                    is_outside |= self.is_far(number, slot, ranges);
                }
            }
            Value::Nominal(code) => {
                // A value that was never learned has a code too: that of no text.
                let known = code.and_then(|code| self.tokens.nominal(slot, code));
                let token = known.copied().unwrap_or(slot as u64);
                push_bucket(mixed(token, self.seed), 0, self.n_active, self.n_bits, bits);
                encoded += 1;
            }
        });
        scratch.give_numbers(buffer);
        settle(bits);
        (encoded, is_outside)
    }

    /// Whether a number is beyond the range so far by more than the tolerance.
    fn is_far(&self, number: f64, slot: usize, ranges: &[Range]) -> bool {
        let known = ranges.get(slot).filter(|range| range.count >= self.calibration_period);
        let (Some(tolerance), Some(range)) = (self.spatial_tolerance, known) else { return false };
        let margin = finite(tolerance * (range.max - range.min));
        range.max > range.min && (number > range.max + margin || number < range.min - margin)
    }

    /// Learn the ranges of a row.
    fn calibrate(&self, x: Row<'_>, ranges: &mut Vec<Range>, scratch: &mut Scratch) {
        let mut buffer = scratch.take_numbers();
        x.dense(&mut buffer).each(|slot, value| {
            let Value::Number(number) = value else { return };
            if self.time_slot == Some(slot as u32) {
                return;
            }
            if slot >= ranges.len() {
                ranges.resize(slot + 1, Range::default());
            }
            let range = &mut ranges[slot];
            range.count = range.count.saturating_add(1);
            (range.min, range.max) = (range.min.min(number), range.max.max(number));
            if range.resolution == 0.0 && range.count >= self.calibration_period {
                (range.low, range.resolution) = (range.min, self.resolution(range.min, range.max));
            }
        });
        scratch.give_numbers(buffer);
    }
}

#[derive(Clone)]
struct HtmAnomaly {
    encoder: Encoder,
    max_gap: Option<f64>,
    pooler: Pooler,
    memory: Memory,
    likelihood: Likelihood,
    context: Context,
    bits: Vec<u32>,
    columns: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct State {
    pooler: SavedPooler,
    memory: SavedMemory,
    likelihood: LikelihoodState,
    context: Context,
}

impl HtmAnomaly {
    /// The time of a row, if there is one.
    fn time(&self, x: Row<'_>) -> Option<f64> {
        match x.get(self.encoder.time_slot? as usize) {
            Some(Value::Number(time)) => Some(time),
            _ => None,
        }
    }

    fn is_after_gap(&self, time: Option<f64>) -> bool {
        match (self.max_gap, self.context.time, time) {
            (Some(max_gap), Some(last), Some(time)) => time - last > max_gap,
            _ => false,
        }
    }

    /// The score of a row with these columns, and its raw score; none where a sequence starts.
    fn scores(&self, columns: &[u32], is_after_gap: bool, is_outside: bool) -> (f64, Option<f64>) {
        let raw = (self.memory.continues() && !is_after_gap).then(|| self.memory.score(columns));
        let score = raw.map_or(0.0, |raw| self.likelihood.score(raw));
        (if is_outside { 1.0f64.max(score) } else { score }, raw)
    }

    fn check_time(&self, x: Row<'_>) -> Result<Option<f64>> {
        let Some(name) = &self.encoder.time else { return Ok(None) };
        let Some(time) = self.time(x) else {
            let given = self.encoder.time_slot.and_then(|slot| x.get(slot as usize));
            return Err(Fault::value(match given {
                Some(Value::Nominal(_)) => format!(
                    "{NAME}: the time of a row must be a number of seconds or a datetime, got a string (feature {name})"
                ),
                _ => format!("{NAME}: the time of a row is missing (feature {name})"),
            }));
        };
        match self.context.time {
            Some(last) if time < last => Err(Fault::value(format!(
                "{NAME}: the time must not run backwards (feature {name}), got {} after {}",
                Shown(time),
                Shown(last)
            ))),
            _ => Ok(Some(time)),
        }
    }
}

impl Part for HtmAnomaly {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            pooler: self.pooler.save(),
            memory: self.memory.save(),
            likelihood: self.likelihood.save().clone(),
            context: self.context.clone(),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let sound = |range: &Range| {
            let fresh = range.count == 0 && range.min == f64::INFINITY && range.max == f64::NEG_INFINITY;
            let seen = range.count > 0 && range.min <= range.max && range.min.is_finite() && range.max.is_finite();
            (fresh || seen) && range.low.is_finite() && range.resolution.is_finite() && range.resolution >= 0.0
        };
        require(NAME, state.context.ranges.iter().all(sound), "the range of a feature is out of order")?;
        require(NAME, state.context.time.is_none_or(f64::is_finite), "the time is not finite")?;
        let n_inputs = state.pooler.n_inputs();
        require(NAME, [0, self.encoder.n_inputs()].contains(&n_inputs), "a wrong number of inputs")?;
        let pooler = self.pooler.loaded(NAME, &state.pooler)?;
        let memory = self.memory.loaded(NAME, state.memory)?;
        self.likelihood.load(NAME, state.likelihood)?;
        (self.pooler, self.memory, self.context) = (pooler, memory, state.context);
        Ok(())
    }

    fn memory(&self) -> usize {
        let words = self.bits.capacity() + self.columns.capacity();
        let ranges = std::mem::size_of::<Range>() * self.context.ranges.capacity();
        let parts = self.pooler.memory() + self.memory.memory() + self.likelihood.memory();
        std::mem::size_of::<Self>() + parts + self.encoder.tokens.memory() + 4 * words + ranges
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.encoder.tokens.bind(schema, hash_64);
        self.encoder.limits.bind(schema);
        self.encoder.time_slot = self.encoder.time.as_ref().and_then(|time| schema.slot(time));
    }

    fn infallible(&self) -> bool {
        self.encoder.time.is_none()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let ranges: serde_json::Map<_, _> = (self.context.ranges.iter().enumerate().take(schema.len()))
            .filter(|(_, range)| range.count > 0)
            .map(|(slot, range)| (schema.name(slot).text(), json!([range.min, range.max])))
            .collect();
        json!({
            "ranges": ranges,
            "gaps": self.context.gaps,
            "memory": self.memory.inspect(),
            "likelihood": self.likelihood.inspect(),
        })
    }
}

impl Learner<Anomalies> for HtmAnomaly {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        let (mut bits, mut columns) = (scratch.take_indices(), scratch.take_indices());
        let (encoded, is_outside) = self.encoder.encode(x, &self.context.ranges, scratch, &mut bits);
        *out = 0.0;
        if encoded > 0 {
            self.pooler.activate(&bits, scratch, &mut columns);
            *out = self.scores(&columns, self.is_after_gap(self.time(x)), is_outside).0;
        }
        scratch.give_indices(bits);
        scratch.give_indices(columns);
    }

    fn learn(&mut self, x: Row<'_>, y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, Want::Class, &mut 0.0, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        _y: (),
        _w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let time = self.check_time(x)?;
        let is_after_gap = self.is_after_gap(time);
        self.context.time = time;
        let HtmAnomaly { encoder, pooler, bits, columns, context, .. } = self;
        let (encoded, is_outside) = encoder.encode(x, &context.ranges, scratch, bits);
        encoder.calibrate(x, &mut context.ranges, scratch);
        *out = 0.0;
        if encoded == 0 || is_after_gap {
            context.gaps = context.gaps.saturating_add(u64::from(self.memory.continues()));
            self.memory.reset();
            if encoded == 0 {
                return Ok(());
            }
        }
        pooler.resize(encoder.n_inputs());
        pooler.activate(bits, scratch, columns);
        let (score, raw) = self.scores(&self.columns, false, is_outside);
        *out = score;
        self.pooler.learn(&self.bits, &self.columns, None);
        self.memory.learn(&self.columns);
        if let Some(raw) = raw {
            self.likelihood.learn(raw);
        }
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(parameters: serde_json::Value) -> Box<dyn Learner<Anomalies>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::AnomalyDetector(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut schema = Schema::default();
        schema.push(&"value".into(), crate::schema::FeatureKind::Number);
        schema.push(&"time".into(), crate::schema::FeatureKind::Number);
        model.bind(&schema);
        model
    }

    fn small() -> serde_json::Value {
        json!({
            "time": "time", "max_gap": 60.0, "n_columns": 256, "active_columns": 12, "cells_per_column": 6,
            "activation_threshold": 7, "min_threshold": 5, "new_synapses": 12, "max_synapses": 16,
            "grace_period": 20, "min_samples": 20, "calibration_period": 10, "scale": "raw",
        })
    }

    fn step(model: &mut dyn Learner<Anomalies>, x: &[f64]) -> Result<f64> {
        let (mut score, mut scratch) = (f64::NAN, Scratch::default());
        let mut predicted = f64::NAN;
        model.predict(Row::Plain(x), Want::Class, &mut predicted, &mut scratch);
        model.step(Row::Plain(x), (), 1.0, Want::Class, &mut score, &mut scratch)?;
        // The first row after the calibration is the first that the pooler knows its inputs at.
        assert!(predicted == score, "{predicted} {score}");
        Ok(score)
    }

    #[test]
    fn a_cycle_is_learned_and_a_gap_starts_anew() {
        let mut model = built(small());
        let mut scores = Vec::new();
        for row in 0..400 {
            scores.push(step(&mut *model, &[f64::from(row % 5) * 10.0, f64::from(row)]).unwrap());
        }
        assert!(scores[300..].iter().sum::<f64>() < 5.0, "{:?}", &scores[300..]);
        // 20 does not follow 40, which was the last; the bucket is known, so the number is not outside.
        let mut score = 0.0;
        model.predict(Row::Plain(&[20.0, 400.0]), Want::Class, &mut score, &mut Scratch::default());
        assert!(score > 0.3, "{score}");
        // Far outside of 0 to 40.
        model.predict(Row::Plain(&[50.0, 400.0]), Want::Class, &mut score, &mut Scratch::default());
        assert_eq!(score, 1.0);
        // After a gap anything may follow.
        assert_eq!(step(&mut *model, &[20.0, 1000.0]).unwrap(), 0.0);
        assert_eq!(model.inspect(&Schema::default())["gaps"], json!(1));
        let before = model.save().unwrap();
        let fault = step(&mut *model, &[20.0, 999.0]).unwrap_err();
        assert!(fault.message().ends_with("(feature 'time'), got 999 after 1000"), "{}", fault.message());
        assert!(model.save().unwrap() == before);
    }

    #[test]
    fn a_saved_detector_continues() {
        let mut model = built(small());
        for row in 0..60 {
            let mut loaded = built(small());
            loaded.load(&model.save().unwrap()).unwrap();
            let x = [f64::from(row * row % 7), f64::from(row)];
            assert_eq!(step(&mut *loaded, &x).unwrap(), step(&mut *model, &x).unwrap());
            assert!(loaded.save().unwrap() == model.save().unwrap(), "row {row}");
        }
    }

    #[test]
    fn a_constant_series_and_extreme_numbers() {
        let mut model =
            built(json!({ "n_columns": 64, "active_columns": 4, "activation_threshold": 3, "min_threshold": 2 }));
        for row in 0..200 {
            let score = step(&mut *model, &[7.0, 7.0]).unwrap();
            assert_eq!(score, 0.0, "row {row}");
        }
        for x in [1e308, -1e308, f64::MAX, 5e-324] {
            assert!(step(&mut *model, &[x, -x]).unwrap().is_finite());
        }
    }
}
