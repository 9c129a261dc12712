//! Code shared by the detectors for rows: two windows, the time of their comparisons, and their update after drift.
//!
//! The first rows, or those of a given table, are the reference. The newest rows are the current window. Every
//! `check_interval` rows a `WindowComparison` compares the two. A row costs its copy, a check costs its comparison, and
//! the size of both windows is bounded.

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
use crate::schema::FeatureKind;

use super::change_point;
use super::finding::{most_moved, Correction, Finding, Level, SignificanceLevels};
use super::row_window::RowWindow;

/// Maximum count of numbers in both windows: half a gigabyte.
const LARGEST: usize = 1 << 26;

/// Random stream that samples the rows of a long reference.
const RESERVOIR: u64 = 0x5245_5345;

/// The rows that the current window is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The first rows; after drift, the rows after the change point.
    Renewed,
    /// The first rows, always.
    Fixed,
    /// The rows directly before the current window; after drift, the rows after the change point.
    Sliding,
}

pub const REFERENCES: [&str; 3] = ["renewed", "fixed", "sliding"];

#[derive(Clone, Copy, Debug)]
pub struct WindowSettings {
    pub reference_size: usize,
    pub window_size: usize,
    pub check_interval: usize,
    pub reference: Reference,
}

impl WindowSettings {
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        let reference = match arguments.text("reference")? {
            "fixed" => Reference::Fixed,
            "sliding" => Reference::Sliding,
            _ => Reference::Renewed,
        };
        Ok(WindowSettings {
            reference_size: arguments.size("reference_size")?,
            window_size: arguments.size("window_size")?,
            check_interval: arguments.size("check_interval")?,
            reference,
        })
    }
}

impl SignificanceLevels {
    pub fn of(arguments: &Arguments<'_>, correction: Correction) -> Result<Self> {
        let (drift, warning) = (arguments.float("significance")?, arguments.float("warning_significance")?);
        if warning < drift {
            return Err(Fault::value(format!(
                "{}: warning_significance must be at least significance ({drift}), got {warning}",
                arguments.who
            )));
        }
        Ok(SignificanceLevels { drift, warning, correction })
    }
}

/// The two windows of a comparison.
pub struct Sample<'a> {
    pub reference: &'a RowWindow,
    pub current: &'a RowWindow,
    /// By slot; a feature that was always missing is unknown.
    pub kinds: &'a [FeatureKind],
}

/// The result of a comparison, apart from the findings by feature.
pub struct ComparisonResult {
    pub level: Level,
    pub estimation: f64,
}

/// A test of two windows for drift.
pub trait WindowComparison: Clone + Send + Sync + 'static {
    /// Values computed from the reference, and buffers. They follow from the reference, so they are not saved.
    type FittedReference: Clone + Default + Send + Sync;

    fn name(&self) -> &'static str;
    /// Process a new reference.
    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut Self::FittedReference);
    /// Compare the windows, and fill `findings`, which has one entry for each slot.
    fn compare(
        &self,
        fitted: &mut Self::FittedReference,
        sample: &Sample<'_>,
        findings: &mut [Finding],
    ) -> ComparisonResult;
    /// The estimate before the first comparison.
    fn start(&self) -> f64 {
        0.0
    }
    /// Heap memory of the fitted reference, in bytes.
    fn memory(fitted: &Self::FittedReference) -> usize;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    reference: RowWindow,
    current: RowWindow,
    /// Count of rows that `learn` added to the reference; if positive, the reference is complete at any size.
    given: u64,
    /// Count of rows since the last check.
    unchecked: usize,
    /// The result of the last check; drift is cleared with the next row.
    level: Level,
    /// Count of rows since the estimated change point of the last check.
    since: u64,
    /// The estimate of the last comparison; none before the first.
    estimation: Option<f64>,
    findings: Vec<Finding>,
    drifted: Vec<Finding>,
}

#[derive(Clone)]
struct ComparisonDetector<C: WindowComparison> {
    windows: WindowSettings,
    comparison: C,
    state: State,
    fitted: C::FittedReference,
    /// Feature kinds with which the reference was fitted; none if it is not fitted.
    fitted_kinds: Option<Vec<FeatureKind>>,
    kinds: Vec<FeatureKind>,
    row: Vec<f64>,
}

pub fn build<C: WindowComparison>(windows: WindowSettings, comparison: C) -> Built {
    Built::FeatureDriftDetector(Box::new(ComparisonDetector {
        windows,
        comparison,
        state: State::default(),
        fitted: C::FittedReference::default(),
        fitted_kinds: None,
        kinds: Vec::new(),
        row: Vec::new(),
    }))
}

impl<C: WindowComparison> ComparisonDetector<C> {
    /// Copy a row to `self.row`, and widen the windows to its features.
    fn copy_row(&mut self, x: Row<'_>) -> Result<()> {
        let width = x.width().max(self.state.reference.width());
        if width > self.state.reference.width() {
            let rows = self.windows.reference_size.saturating_add(self.windows.window_size);
            if width.saturating_mul(rows) > LARGEST {
                return Err(Fault::value(format!(
                    "{}: {width} features in windows of {rows} rows exceed {LARGEST} numbers: select or hash features, or \
                     use smaller windows",
                    self.comparison.name()
                )));
            }
            self.state.reference.widen(width);
            self.state.current.widen(width);
            self.fitted_kinds = None;
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
        self.kinds.resize(width, FeatureKind::Number);
        if self.fitted_kinds.as_ref() != Some(&self.kinds) {
            self.comparison.fit_reference(&state.reference, &self.kinds, &mut self.fitted);
            self.fitted_kinds.get_or_insert_default().clone_from(&self.kinds);
        }
        state.unchecked = 0;
        state.findings.clear();
        state.findings.resize(width, Finding::UNTESTED);
        let sample = Sample { reference: &state.reference, current: &state.current, kinds: &self.kinds };
        let found = self.comparison.compare(&mut self.fitted, &sample, &mut state.findings);
        state.level = found.level;
        state.estimation = Some(found.estimation);
        state.since = 0;
        if found.level == Level::Nothing {
            return;
        }
        let top = (0..width).min_by(|&a, &b| most_moved(&state.findings[a], &state.findings[b])).unwrap_or(0);
        let kind = self.kinds.get(top).copied().unwrap_or(FeatureKind::Unknown);
        let since = change_point::since(&state.reference, &state.current, top, kind);
        state.since = since as u64;
        if found.level == Level::Drift {
            state.drifted.clone_from(&state.findings);
            if self.windows.reference != Reference::Fixed {
                // Rows from before the change would make the new reference a mixture, and the next check a false alarm.
                state.reference.take_newest(&state.current, since.min(self.windows.reference_size));
                state.current.clear();
                state.given = 0;
                self.fitted_kinds = None;
            }
        }
    }

    /// Whether rows are still added to the reference.
    fn is_collecting(&self) -> bool {
        self.state.given == 0 && self.state.reference.len() < self.windows.reference_size
    }
}

impl<C: WindowComparison> Part for ComparisonDetector<C> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.comparison.name(), bytes)?;
        let WindowSettings { reference_size, window_size, check_interval, .. } = self.windows;
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
        self.fitted_kinds = None;
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
            + C::memory(&self.fitted)
    }
}

impl<C: WindowComparison> FeatureDriftDetector for ComparisonDetector<C> {
    fn update(&mut self, x: Row<'_>) -> Result<()> {
        self.copy_row(x)?;
        let WindowSettings { reference_size, window_size, check_interval, reference } = self.windows;
        let collecting = self.is_collecting();
        let state = &mut self.state;
        // Drift is reported for one row; a warning lasts until the next check.
        if state.level == Level::Drift {
            state.level = Level::Nothing;
        }
        state.since = state.since.saturating_add(1);
        if collecting {
            state.reference.push(&self.row, reference_size);
            self.fitted_kinds = None;
            return Ok(());
        }
        if reference == Reference::Sliding && state.current.len() == window_size {
            state.reference.push(state.current.row(0), reference_size);
            self.fitted_kinds = None;
        }
        state.current.push(&self.row, window_size);
        state.unchecked += 1;
        if state.current.len() == window_size && state.unchecked >= check_interval {
            self.check(x);
        }
        Ok(())
    }

    fn learn(&mut self, x: Row<'_>) -> Result<()> {
        self.copy_row(x)?;
        let state = &mut self.state;
        // Earlier rows of the stream are not part of a given reference.
        if state.given == 0 {
            state.reference.clear();
        }
        state.given = state.given.saturating_add(1);
        self.fitted_kinds = None;
        if state.reference.len() < self.windows.reference_size {
            state.reference.push(&self.row, self.windows.reference_size);
            return Ok(());
        }
        // A long table is sampled uniformly (Waterman's reservoir). The draw depends on the count only, so that no
        // generator needs to be saved.
        let bound = u32::try_from(state.given).unwrap_or(u32::MAX);
        let index = Random::new(state.given, RESERVOIR).below(bound) as usize;
        if index < self.windows.reference_size {
            state.reference.put(index, &self.row);
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
        self.fitted_kinds = None;
    }

    fn duplicate(&self) -> Box<dyn FeatureDriftDetector> {
        Box::new(self.clone())
    }
}
