//! Scales of features: one divisor for each number, from all rows that were learned.
//!
//! Distances need no centres, since those cancel in differences. Rows are stored as they were given and divided when they
//! are compared: rows that a scaler before the learner has scaled would keep the scale of their time.
//!
//! "standard" divides by the standard deviation (West's weighted form of Welford's recursion, 1979, as in
//! preprocessing.StandardScaler), "min_max" by the range. A feature that has not varied is divided by 1.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};

pub const SCALE: Parameter = Parameter::new(
    "scale",
    Kind::Optional(&Kind::Choice(&["standard", "min_max"])),
    DefaultValue::Text("standard"),
    "by what numbers are divided in distances: the standard deviation or the range of their feature; null for 1",
);

/// Sums up to this are far from overflowing, whatever moderate rows follow.
const LARGEST_SUM: f64 = 1e250;
/// Means up to this too.
const LARGEST_MEAN: f64 = 1e70;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    None,
    Standard,
    MinMax,
}

#[derive(Clone, Debug)]
pub struct Scaling {
    kind: Kinds,
    state: Moments,
    spare: Moments,
}

/// By column.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Sums of weights.
    counts: Vec<f64>,
    /// Means, or the smallest numbers.
    first: Vec<f64>,
    /// Σ w (x − mean)², or the largest numbers.
    second: Vec<f64>,
    #[serde(skip)]
    inverse: Vec<f64>,
}

impl Moments {
    fn lists(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.counts, &mut self.first, &mut self.second, &mut self.inverse]
    }
}

impl Scaling {
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        let kind = match arguments.value("scale")?.as_str() {
            Some("standard") => Kinds::Standard,
            Some(_) => Kinds::MinMax,
            None => Kinds::None,
        };
        Ok(Scaling { kind, state: Moments::default(), spare: Moments::default() })
    }

    /// 1 / scale of each column; empty if nothing is scaled.
    pub fn inverse(&self) -> &[f64] {
        &self.state.inverse
    }

    /// Compute the scales after a row in spare buffers; `commit` makes them valid.
    pub fn prepare(&mut self, row: &[f64], is_nominal: impl Fn(usize) -> bool, w: f64, who: &str) -> Result<()> {
        if self.kind == Kinds::None {
            return Ok(());
        }
        check_numbers(who, row, LARGEST)?;
        let Scaling { kind, state, spare } = self;
        let known = state.counts.len();
        for (list, before) in spare.lists().into_iter().zip(state.lists()) {
            list.clear();
            list.extend_from_slice(before);
            list.resize(row.len().max(known), 0.0);
        }
        let mut sound = true;
        for (column, &x) in row.iter().enumerate() {
            if x.is_nan() || is_nominal(column) {
                if column >= known {
                    spare.inverse[column] = 1.0;
                }
                continue;
            }
            let before = spare.counts[column];
            let n = before + w;
            spare.counts[column] = n;
            if *kind == Kinds::Standard {
                let delta = x - spare.first[column];
                spare.first[column] += delta * (w / n);
                spare.second[column] += delta * (w * (before / n)) * delta;
            } else if before == 0.0 {
                (spare.first[column], spare.second[column]) = (x, x);
            } else {
                spare.first[column] = spare.first[column].min(x);
                spare.second[column] = spare.second[column].max(x);
            }
            sound &= n.is_finite() && spare.first[column].is_finite() && spare.second[column].is_finite();
            spare.inverse[column] = inverse(*kind, n, spare.first[column], spare.second[column]);
        }
        match sound {
            true => Ok(()),
            false => Err(Fault::overflow(who)),
        }
    }

    pub fn commit(&mut self) {
        if self.kind != Kinds::None {
            std::mem::swap(&mut self.state, &mut self.spare);
        }
    }

    /// Whether moderate rows cannot make it overflow.
    pub fn is_roomy(&self) -> bool {
        let Moments { counts, first, second, .. } = &self.state;
        let small = |list: &[f64], most: f64| list.iter().all(|number| number.abs() <= most);
        match self.kind {
            Kinds::Standard => {
                small(counts, LARGEST_SUM) && small(first, LARGEST_MEAN) && small(second, LARGEST_SUM)
            }
            _ => small(counts, LARGEST_SUM),
        }
    }

    pub fn save(&self) -> &Moments {
        &self.state
    }

    /// None if the state could not have been saved.
    pub fn load(&self, mut state: Moments, width: usize) -> Option<Scaling> {
        let expected = if self.kind == Kinds::None { 0 } else { width };
        let lengths = [&state.counts, &state.first, &state.second].iter().all(|list| list.len() == expected);
        let is_sound = |column: usize| {
            let (n, first, second) = (state.counts[column], state.first[column], state.second[column]);
            let numbers = n >= 0.0 && [n, first, second].iter().all(|number| number.is_finite());
            numbers && if self.kind == Kinds::Standard { second >= 0.0 } else { first <= second }
        };
        if !lengths || !(0..expected).all(is_sound) {
            return None;
        }
        state.inverse = (0..expected)
            .map(|column| inverse(self.kind, state.counts[column], state.first[column], state.second[column]))
            .collect();
        Some(Scaling { kind: self.kind, state, spare: Moments::default() })
    }

    pub fn memory(&self) -> usize {
        let lists = |moments: &Moments| {
            let Moments { counts, first, second, inverse } = moments;
            [counts, first, second, inverse].iter().map(|list| list.capacity() * 8).sum::<usize>()
        };
        lists(&self.state) + lists(&self.spare)
    }
}

#[inline]
fn inverse(kind: Kinds, n: f64, first: f64, second: f64) -> f64 {
    let inverse = match kind {
        // A smaller sum is rounding, or its quotient overflows.
        Kinds::Standard if second > 1e-290 => (n / second).sqrt(),
        Kinds::MinMax => 1.0 / (second - first),
        _ => f64::INFINITY,
    };
    if inverse < f64::INFINITY && inverse > 0.0 {
        inverse
    } else {
        1.0
    }
}
