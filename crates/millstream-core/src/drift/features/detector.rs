//! What all detectors of rows share: two windows, when they are compared, and what becomes of them after a change.
//!
//! The first rows, or those of a table that is given, are the reference; the newest rows are the current window. Every
//! so many rows a `Comparison` tells the two apart. A row costs its copy, a check what its comparison costs; both
//! windows are bounded.

use serde::{Deserialize, Serialize};

use crate::declaration::Built;
use crate::detector::FeatureDriftDetector;
use crate::drift::{Direction, Verdict};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::numeric::random::Random;
use crate::parameter::Arguments;
use crate::part::Part;
use crate::row::Row;
use crate::schema::Kind;

use super::finding::{most_moved, Correction, Finding, Level, Significance};
use super::onset;
use super::rows::Rows;

/// The most numbers that both windows may hold: half a gigabyte.
const LARGEST: usize = 1 << 26;

/// The use of seeds by which rows of a long reference are chosen.
const RESERVOIR: u64 = 0x5245_5345;

/// What the current window is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The first rows, until a change; then those after it.
    Renewed,
    /// The first rows, for ever.
    Fixed,
    /// The rows directly before the current window; after a change those after it.
    Sliding,
}

pub const REFERENCES: [&str; 3] = ["renewed", "fixed", "sliding"];

#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub reference_size: usize,
    pub window_size: usize,
    pub check_interval: usize,
    pub reference: Reference,
}

impl Windows {
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        let reference = match arguments.text("reference")? {
            "fixed" => Reference::Fixed,
            "sliding" => Reference::Sliding,
            _ => Reference::Renewed,
        };
        Ok(Windows {
            reference_size: arguments.size("reference_size")?,
            window_size: arguments.size("window_size")?,
            check_interval: arguments.size("check_interval")?,
            reference,
        })
    }
}

impl Significance {
    pub fn of(arguments: &Arguments<'_>, correction: Correction) -> Result<Self> {
        let (alpha, warning) = (arguments.float("alpha")?, arguments.float("alpha_warning")?);
        if warning < alpha {
            return Err(Fault::value(format!(
                "{}: alpha_warning must be at least alpha, which is {alpha}, got {warning}",
                arguments.who
            )));
        }
        Ok(Significance { alpha, warning, correction })
    }
}

/// What a comparison is shown.
pub struct Sample<'a> {
    pub reference: &'a Rows,
    pub current: &'a Rows,
    /// By slot; one that was always missing is unknown.
    pub kinds: &'a [Kind],
}

/// What a comparison found, beside what it says of each feature.
pub struct Found {
    pub level: Level,
    pub estimation: f64,
}

/// Tells two windows apart.
pub trait Comparison: Clone + Send + Sync + 'static {
    /// What was made of the reference, and room to work in. It follows from the reference, so it is not saved.
    type Study: Clone + Default + Send + Sync;

    fn name(&self) -> &'static str;
    /// Look at a new reference.
    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Self::Study);
    /// Compare the windows; `findings` has one entry for each slot, to be filled.
    fn compare(&self, study: &mut Self::Study, sample: &Sample<'_>, findings: &mut [Finding]) -> Found;
    /// The estimate before anything was compared.
    fn start(&self) -> f64 {
        0.0
    }
    /// Bytes that the study holds elsewhere.
    fn memory(study: &Self::Study) -> usize;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    reference: Rows,
    current: Rows,
    /// Rows that `learn` gave to the reference: then it is whole, whatever its size.
    given: u64,
    /// Rows of the current window since the last check.
    unchecked: usize,
    /// What the last check found; a change is over with the next row.
    level: Level,
    /// Rows since the change that the last check found.
    since: u64,
    /// Whether something was compared, and how it came out.
    estimation: Option<f64>,
    findings: Vec<Finding>,
    drifted: Vec<Finding>,
}

#[derive(Clone)]
struct Detector<C: Comparison> {
    windows: Windows,
    comparison: C,
    state: State,
    study: C::Study,
    /// The kinds of features with which the reference was studied; none if it has not been.
    studied: Option<Vec<Kind>>,
    kinds: Vec<Kind>,
    row: Vec<f64>,
}

pub fn build<C: Comparison>(windows: Windows, comparison: C) -> Built {
    Built::FeatureDriftDetector(Box::new(Detector {
        windows,
        comparison,
        state: State::default(),
        study: C::Study::default(),
        studied: None,
        kinds: Vec::new(),
        row: Vec::new(),
    }))
}

impl<C: Comparison> Detector<C> {
    /// Make room for all features of a row, and write it out.
    fn take(&mut self, x: Row<'_>) -> Result<()> {
        let width = x.width().max(self.state.reference.width());
        if width > self.state.reference.width() {
            let rows = self.windows.reference_size.saturating_add(self.windows.window_size);
            if width.saturating_mul(rows) > LARGEST {
                return Err(Fault::value(format!(
                    "{}: {width} features in windows of {rows} rows are too many (up to {LARGEST} numbers): \
                     select or hash features, or take smaller windows",
                    self.comparison.name()
                )));
            }
            self.state.reference.widen(width);
            self.state.current.widen(width);
            self.studied = None;
        }
        self.row.clear();
        match x {
            Row::Plain(values) | Row::Mixed(values, _) => self.row.extend_from_slice(values),
            Row::Sparse(sparse) => {
                self.row.resize(sparse.width, 0.0);
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    self.row[slot as usize] = value;
                }
            }
        }
        self.row.resize(width, f64::NAN);
        Ok(())
    }

    fn check(&mut self, x: Row<'_>) {
        let state = &mut self.state;
        let width = state.reference.width();
        self.kinds.clear();
        match x {
            Row::Mixed(_, kinds) => self.kinds.extend_from_slice(kinds),
            Row::Plain(_) | Row::Sparse(_) => {}
        }
        self.kinds.resize(width, Kind::Number);
        if self.studied.as_ref() != Some(&self.kinds) {
            self.comparison.study(&state.reference, &self.kinds, &mut self.study);
            self.studied.get_or_insert_default().clone_from(&self.kinds);
        }
        state.unchecked = 0;
        state.findings.clear();
        state.findings.resize(width, Finding::UNTESTED);
        let sample = Sample { reference: &state.reference, current: &state.current, kinds: &self.kinds };
        let found = self.comparison.compare(&mut self.study, &sample, &mut state.findings);
        state.level = found.level;
        state.estimation = Some(found.estimation);
        state.since = 0;
        if found.level == Level::Nothing {
            return;
        }
        let top = (0..width).min_by(|&a, &b| most_moved(&state.findings[a], &state.findings[b])).unwrap_or(0);
        let kind = self.kinds.get(top).copied().unwrap_or(Kind::Unknown);
        let since = onset::since(&state.reference, &state.current, top, kind);
        state.since = since as u64;
        if found.level == Level::Drift {
            state.drifted.clone_from(&state.findings);
            if self.windows.reference != Reference::Fixed {
                // Rows from before the change would make the new reference a mixture, and the next check an alarm.
                state.reference.take_newest(&state.current, since.min(self.windows.reference_size));
                state.current.clear();
                state.given = 0;
                self.studied = None;
            }
        }
    }

    /// Whether rows still go to the reference.
    fn is_collecting(&self) -> bool {
        self.state.given == 0 && self.state.reference.len() < self.windows.reference_size
    }
}

impl<C: Comparison> Part for Detector<C> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.comparison.name(), bytes)?;
        let Windows { reference_size, window_size, check_interval, .. } = self.windows;
        let width = state.reference.width();
        let fits = width.saturating_mul(reference_size.saturating_add(window_size)) <= LARGEST;
        let sound = fits
            && state.reference.is_sound(reference_size)
            && state.current.is_sound(window_size)
            && state.current.width() == width
            && state.unchecked < check_interval.max(window_size)
            && state.findings.len() <= width
            && state.drifted.len() <= width
            && state.findings.iter().chain(&state.drifted).all(Finding::is_sound)
            && state.estimation.is_none_or(f64::is_finite);
        require(self.comparison.name(), sound, "its windows do not fit together")?;
        self.state = state;
        self.studied = None;
        Ok(())
    }

    fn memory(&self) -> usize {
        let state = &self.state;
        let findings = state.findings.capacity() + state.drifted.capacity();
        std::mem::size_of::<Self>()
            + state.reference.memory()
            + state.current.memory()
            + findings * std::mem::size_of::<Finding>()
            + (self.row.capacity() + self.kinds.capacity()) * 8
            + C::memory(&self.study)
    }
}

impl<C: Comparison> FeatureDriftDetector for Detector<C> {
    fn update(&mut self, x: Row<'_>) -> Result<()> {
        self.take(x)?;
        let Windows { reference_size, window_size, check_interval, reference } = self.windows;
        let collecting = self.is_collecting();
        let state = &mut self.state;
        // A change is news for one row; a warning holds until the next check.
        if state.level == Level::Drift {
            state.level = Level::Nothing;
        }
        state.since = state.since.saturating_add(1);
        if collecting {
            state.reference.push(&self.row, reference_size);
            self.studied = None;
            return Ok(());
        }
        if reference == Reference::Sliding && state.current.len() == window_size {
            state.reference.push(state.current.row(0), reference_size);
            self.studied = None;
        }
        state.current.push(&self.row, window_size);
        state.unchecked += 1;
        if state.current.len() == window_size && state.unchecked >= check_interval {
            self.check(x);
        }
        Ok(())
    }

    fn learn(&mut self, x: Row<'_>) -> Result<()> {
        self.take(x)?;
        let state = &mut self.state;
        // Rows that were told before are no part of a reference that is given.
        if state.given == 0 {
            state.reference.clear();
        }
        state.given = state.given.saturating_add(1);
        self.studied = None;
        if state.reference.len() < self.windows.reference_size {
            state.reference.push(&self.row, self.windows.reference_size);
            return Ok(());
        }
        // Of a long table an even sample stays (Waterman's reservoir). The draw depends on nothing but the count, so that
        // there is no generator to save.
        let bound = u32::try_from(state.given).unwrap_or(u32::MAX);
        let place = Random::new(state.given, RESERVOIR).below(bound) as usize;
        if place < self.windows.reference_size {
            state.reference.put(place, &self.row);
        }
        Ok(())
    }

    fn verdict(&self) -> Verdict {
        let since = self.state.since;
        match self.state.level {
            Level::Nothing => Verdict::default(),
            Level::Warning => Verdict::warning(Direction::Unknown, since),
            Level::Drift => Verdict::drift(Direction::Unknown, since),
        }
    }

    fn estimation(&self) -> f64 {
        self.state.estimation.unwrap_or(self.comparison.start())
    }

    fn findings(&self) -> &[Finding] {
        &self.state.findings
    }

    fn drifted(&self) -> &[Finding] {
        &self.state.drifted
    }

    fn reset(&mut self) {
        self.state = State::default();
        self.studied = None;
    }

    fn duplicate(&self) -> Box<dyn FeatureDriftDetector> {
        Box::new(self.clone())
    }
}
