//! Covariance and correlation of two numbers.
//!
//! The co-moment C = Σ w (x − mean_x)(y − mean_y) of two samples combines as the second moment does:
//! C = CA + CB + δx δy nA nB/n (Pébay, 2008, eq. 3.10). A new pair is a sample of size one.

use serde::{Deserialize, Serialize};

use super::moments::moved;
use super::window::{Item, Summary, TwoStacks, Window};
use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const DDOF: Parameter = Parameter::new(
    "ddof",
    Kind::Integer { low: 0, high: 1_000_000 },
    DefaultValue::Integer(1),
    "delta degrees of freedom: the divisor is the total weight minus ddof",
);

pub static COV: Declaration = Declaration {
    name: "stats.Cov",
    role: Role::Statistic,
    words: "Covariance of two variables",
    merge: Merge::EXACT,
    parameters: &[DDOF],
    build: |arguments| build("stats.Cov", Some(arguments.integer("ddof")? as f64)),
};

pub static PEARSON_CORR: Declaration = Declaration {
    name: "stats.PearsonCorr",
    role: Role::Statistic,
    words: "Pearson correlation of two variables",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| build("stats.PearsonCorr", None),
};

fn build(name: &'static str, ddof: Option<f64>) -> Result<Built> {
    Ok(Built::Statistic(Box::new(Pairs { name, ddof, state: State::default() })))
}

#[derive(Clone)]
pub(super) struct Pairs {
    pub(super) name: &'static str,
    /// Delta degrees of freedom of the covariance; None for the correlation.
    pub(super) ddof: Option<f64>,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    n: f64,
    mean_x: f64,
    mean_y: f64,
    co_moment: f64,
    /// Σ w (x − mean)², for the correlation only.
    square_x: f64,
    square_y: f64,
    /// Pairs added minus pairs removed.
    pairs: u64,
}

impl State {
    fn combined(&self, b: &State, squares: bool) -> State {
        // The differences are not those of two means then, and their products could overflow.
        if self.n == 0.0 {
            return *b;
        }
        self.shifted(b, (b.mean_x - self.mean_x, b.mean_y - self.mean_y), squares)
    }

    /// Combine with `b`, whose means are larger by `dx` and `dy`.
    #[inline]
    fn shifted(&self, b: &State, (dx, dy): (f64, f64), squares: bool) -> State {
        let n = self.n + b.n;
        let (share, both) = (b.n / n, self.n / n * b.n);
        let mut c = State {
            n,
            mean_x: self.mean_x + dx * share,
            mean_y: self.mean_y + dy * share,
            co_moment: self.co_moment + b.co_moment + dx * dy * both,
            ..*self
        };
        if squares {
            c.square_x += b.square_x + dx * dx * both;
            c.square_y += b.square_y + dy * dy * both;
        }
        c
    }

    fn value(&self, ddof: Option<f64>) -> f64 {
        let State { n, co_moment, square_x, square_y, .. } = *self;
        match ddof {
            Some(ddof) if n > ddof => co_moment / (n - ddof),
            None if square_x > 0.0 && square_y > 0.0 => {
                (co_moment / square_x.sqrt() / square_y.sqrt()).clamp(-1.0, 1.0)
            }
            _ => f64::NAN,
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        let numbers = [self.n, self.mean_x, self.mean_y, self.co_moment, self.square_x, self.square_y];
        numbers.iter().all(|number| number.is_finite())
    }
}

impl Part for Pairs {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        require(self.name, state.is_finite() && state.n >= 0.0, "a moment is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for Pairs {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        let pairs = match w < 0.0 {
            true => self.state.pairs.checked_sub(1).ok_or_else(|| never_told(self.name))?,
            false => {
                check_numbers(self.name, &[x, y], LARGEST)?;
                self.state.pairs.saturating_add(1)
            }
        };
        // Nothing is left except rounding errors.
        if pairs == 0 || self.state.n + w <= 0.0 {
            self.state = State { pairs, ..State::default() };
            return Ok(());
        }
        let one = State { n: w, mean_x: x, mean_y: y, ..State::default() };
        let mut next = self.state.combined(&one, self.ddof.is_none());
        next.pairs = pairs;
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = next;
        Ok(())
    }

    fn get(&self) -> f64 {
        self.state.value(self.ddof)
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn largest(&self) -> f64 {
        LARGEST
    }

    fn invertible(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        if theirs.state.n <= 0.0 {
            return Ok(());
        }
        let mut next = self.state.combined(&theirs.state, self.ddof.is_none());
        next.pairs = self.state.pairs.saturating_add(theirs.state.pairs);
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = next;
        Ok(())
    }

    fn unmerge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let State { n, co_moment, square_x, square_y, pairs, .. } = theirs.state;
        let pairs = self.state.pairs.checked_sub(pairs).ok_or_else(|| never_told(self.name))?;
        if pairs == 0 || self.state.n <= n {
            self.state = State { pairs, ..State::default() };
            return Ok(());
        }
        let removed =
            State { n: -n, co_moment: -co_moment, square_x: -square_x, square_y: -square_y, ..theirs.state };
        let mut next = self.state.combined(&removed, self.ddof.is_none());
        next.pairs = pairs;
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = next;
        Ok(())
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(TwoStacks::boxed(WindowPairs { name: self.name, ddof: self.ddof }))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

/// Moments of the pairs in a window.
#[derive(Clone)]
struct WindowPairs {
    name: &'static str,
    ddof: Option<f64>,
}

/// Moments with the rounding errors of the means, as in `moments`.
#[derive(Clone, Copy)]
struct Compensated {
    state: State,
    lost: (f64, f64),
}

impl Summary for WindowPairs {
    type Value = Compensated;

    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn of(&self, (x, y, w): Item) -> Compensated {
        Compensated { state: State { n: w, mean_x: x, mean_y: y, pairs: 1, ..State::default() }, lost: (0.0, 0.0) }
    }

    #[inline]
    fn combine(&self, a: &Compensated, b: &Compensated) -> Compensated {
        let dx = (b.state.mean_x - a.state.mean_x) + (b.lost.0 - a.lost.0);
        let dy = (b.state.mean_y - a.state.mean_y) + (b.lost.1 - a.lost.1);
        let mut state = a.state.shifted(&b.state, (dx, dy), self.ddof.is_none());
        state.pairs = a.state.pairs + b.state.pairs;
        let share = b.state.n / state.n;
        let (mean_x, lost_x) = moved(a.state.mean_x, a.lost.0, dx * share);
        let (mean_y, lost_y) = moved(a.state.mean_y, a.lost.1, dy * share);
        Compensated { state: State { mean_x, mean_y, ..state }, lost: (lost_x, lost_y) }
    }

    fn is_finite(&self, value: &Compensated) -> bool {
        value.state.is_finite()
    }

    fn get(&self, value: Option<&Compensated>) -> f64 {
        value.map_or(f64::NAN, |value| value.state.value(self.ddof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // (1, 2), (2, 6), (6, 4): means 3 and 4, C = (−2)(−2) + (−1)(2) + (3)(0) = 2; squares 14 and 8.
        for (ddof, expected) in [(Some(1.0), 1.0), (None, 2.0 / (14f64 * 8.0).sqrt())] {
            let mut pairs = Pairs { name: "stats.Test", ddof, state: State::default() };
            for (x, y) in [(1.0, 2.0), (2.0, 6.0), (6.0, 4.0)] {
                pairs.update(x, y, 1.0).expect("a good pair");
            }
            assert!((pairs.get() - expected).abs() < 1e-15);
        }
    }
}
