//! z = (x − mean) / standard deviation, both over the examples so far.
//!
//! Welford's recursion (1962) in West's weighted form (1979): n ← n + w, δ = x − m, m ← m + δ w/n,
//! s ← s + δ² w (n − w)/n, which is West's w δ (x − m) in a form that rounding cannot make negative. A constant
//! feature becomes 0. Nominal values pass through.
//!
//! The inverse deviation is stored with the moments: in a pipeline, the scaling before an update is the one after
//! the previous update, so each square root is computed once. `learn` writes to spare moments and swaps, so `undo`
//! swaps back.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::merging::{combined_moments, unless_windowed, Merge, Merger};
use crate::numeric::magnitude::{check_row, LARGEST};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{all_finite, bounded, Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::windowed::{window_size, Standard, Windowed, WINDOW_SIZE};

pub const NAME: &str = "preprocessing.StandardScaler";
/// Sums up to this are far from overflowing, whatever moderate rows follow.
const LARGEST_SUM: f64 = 1e250;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales numbers to mean 0 and variance 1 over the stream so far",
    merge: Merge::EXACT.or(unless_windowed),
    parameters: &[
        Parameter::new("with_mean", Kind::Boolean, DefaultValue::Boolean(true), "whether to subtract the mean"),
        Parameter::new(
            "with_std",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether to divide by the standard deviation",
        ),
        WINDOW_SIZE,
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let (with_mean, with_std) = (arguments.boolean("with_mean")?, arguments.boolean("with_std")?);
    if let Some(size) = window_size(arguments)? {
        return Windowed::build(size, Standard { with_mean, with_std });
    }
    Ok(Built::Transformer(Box::new(StandardScaler {
        with_mean,
        with_std,
        moments: Moments::default(),
        spare: Moments::default(),
        kept: Moments::default(),
        savepoint: Savepoint::None,
        arch: Arch::new(),
    })))
}

#[derive(Clone)]
struct StandardScaler {
    with_mean: bool,
    with_std: bool,
    moments: Moments,
    /// The moments before the last `learn`.
    spare: Moments,
    /// The moments at the last savepoint; without one, a buffer for them.
    kept: Moments,
    savepoint: Savepoint,
    /// The instruction set of the processor.
    arch: Arch,
}

#[derive(Clone, Copy, PartialEq)]
enum Savepoint {
    None,
    /// Nothing was learned since.
    Fresh,
    /// One example was learned since: the moments before it are those at the savepoint, and in `kept`.
    First,
    Later,
}

/// By slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Moments {
    /// The sum of weights when every feature came with every example, which is the common case; NaN
    /// from the first example on that lacks one, when `counts` takes over.
    shared_count: f64,
    counts: Vec<f64>,
    means: Vec<f64>,
    /// Σ w (x − mean)²
    squares: Vec<f64>,
    #[serde(skip)]
    inverse_deviations: Vec<f64>,
}

impl Moments {
    fn count(&self, slot: usize) -> f64 {
        if self.shared_count.is_nan() {
            self.counts[slot]
        } else {
            self.shared_count
        }
    }

    /// Give each feature a count of its own.
    fn separate(&mut self) {
        if !self.shared_count.is_nan() {
            self.counts = vec![self.shared_count; self.means.len()];
            self.shared_count = f64::NAN;
        }
    }

    fn grow(&mut self, width: usize) {
        if width <= self.means.len() {
            return;
        }
        if !self.means.is_empty() {
            self.separate();
        }
        if self.shared_count.is_nan() {
            self.counts.resize(width, 0.0);
        }
        for numbers in [&mut self.means, &mut self.squares, &mut self.inverse_deviations] {
            numbers.resize(width, 0.0);
        }
    }

    /// Swap with another of the same width whose counts are shared too: those hold nothing.
    #[inline]
    fn swap(&mut self, other: &mut Moments) {
        std::mem::swap(&mut self.shared_count, &mut other.shared_count);
        std::mem::swap(&mut self.means, &mut other.means);
        std::mem::swap(&mut self.squares, &mut other.squares);
        std::mem::swap(&mut self.inverse_deviations, &mut other.inverse_deviations);
    }

    /// Become a place for `width` features with a shared count, whose numbers are still to be written.
    #[inline]
    fn fit(&mut self, width: usize) {
        self.counts.clear();
        if self.means.len() != width || self.inverse_deviations.len() != width {
            for numbers in [&mut self.means, &mut self.squares, &mut self.inverse_deviations] {
                numbers.resize(width, 0.0);
            }
        }
    }

    fn copy_from(&mut self, other: &Moments) {
        self.shared_count = other.shared_count;
        self.counts.clone_from(&other.counts);
        self.means.clone_from(&other.means);
        self.squares.clone_from(&other.squares);
        self.inverse_deviations.clone_from(&other.inverse_deviations);
    }

    /// West's update of one feature; returns the new (mean, squares, inverse deviation).
    #[inline(always)]
    fn updated(mean: f64, squares: f64, x: f64, w: f64, before: f64, n: f64) -> (f64, f64, f64) {
        let delta = x - mean;
        let mean = mean + delta * (w / n);
        let squares = squares + delta * (w * (before / n)) * delta;
        (mean, squares, inverse_deviation(squares, n))
    }

    fn update_slot(&mut self, slot: usize, x: f64, w: f64) {
        let before = self.counts[slot];
        self.counts[slot] += w;
        (self.means[slot], self.squares[slot], self.inverse_deviations[slot]) =
            Self::updated(self.means[slot], self.squares[slot], x, w, before, self.counts[slot]);
    }

    fn finite(&self) -> bool {
        all_finite(&self.means) && all_finite(&self.squares) && all_finite(&self.inverse_deviations)
    }

    fn memory(&self) -> usize {
        [&self.counts, &self.means, &self.squares, &self.inverse_deviations].iter().map(|v| v.capacity() * 8).sum()
    }
}

/// West's update of all features, and the features as they are scaled before and after; false if it overflows. Compiled
/// for several instruction sets; every operation rounds as IEEE 754 says, so the results are the same with all of them.
struct Welford<'a> {
    x: &'a [f64],
    w: f64,
    old: &'a Moments,
    /// With the new count.
    new: &'a mut Moments,
    before: &'a mut [f64],
    after: &'a mut [f64],
}

impl WithSimd for Welford<'_> {
    type Output = bool;

    /// By fours, then by twos: the widths of vector registers.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let Welford { x, w, old, new, before, after } = self;
        let n = new.shared_count;
        let factors = Factors { n, share: w / n, factor: w * (old.shared_count / n) };
        let old = [&old.means[..], &old.squares[..], &old.inverse_deviations[..]];
        let Moments { means, squares, inverse_deviations: inverses, .. } = new;
        let (fours, pairs) = (x.len() / 4 * 4, x.len() / 2 * 2);
        let mut check = factors.update::<4>(x, old, [means, squares, inverses, before, after], 0, fours);
        check += factors.update::<2>(x, old, [means, squares, inverses, before, after], fours, pairs);
        check += factors.update::<1>(x, old, [means, squares, inverses, before, after], pairs, x.len());
        check == 0.0
    }
}

/// What is the same for all features.
#[derive(Clone, Copy)]
struct Factors {
    n: f64,
    share: f64,
    factor: f64,
}

impl Factors {
    /// Update the slots from `from` to `to`, `N` at a time. Not 0 if a number overflows.
    #[inline(always)]
    fn update<const N: usize>(
        self,
        x: &[f64],
        old: [&[f64]; 3],
        new: [&mut [f64]; 5],
        from: usize,
        to: usize,
    ) -> f64 {
        let [means, squares, inverses, before, after] = new;
        let count = (to - from) / N;
        let x = &x[from..to].as_chunks::<N>().0[..count];
        let [old_means, old_squares, old_inverses] = old;
        let old_means = &old_means[from..to].as_chunks::<N>().0[..count];
        let old_squares = &old_squares[from..to].as_chunks::<N>().0[..count];
        let old_inverses = &old_inverses[from..to].as_chunks::<N>().0[..count];
        let means = &mut means[from..to].as_chunks_mut::<N>().0[..count];
        let squares = &mut squares[from..to].as_chunks_mut::<N>().0[..count];
        let inverses = &mut inverses[from..to].as_chunks_mut::<N>().0[..count];
        let before = &mut before[from..to].as_chunks_mut::<N>().0[..count];
        let after = &mut after[from..to].as_chunks_mut::<N>().0[..count];
        // A difference that overflows makes its square infinite, so the squares tell of all.
        let mut check = [0.0; N];
        for j in 0..count {
            // Read everything before anything is written: the compiler does not know that the slices do not overlap.
            let (x, old_means, old_squares, old_inverses) = (x[j], old_means[j], old_squares[j], old_inverses[j]);
            let (mut mean, mut square, mut inverse) = ([0.0; N], [0.0; N], [0.0; N]);
            let (mut earlier, mut later) = ([0.0; N], [0.0; N]);
            for k in 0..N {
                let delta = x[k] - old_means[k];
                mean[k] = old_means[k] + delta * self.share;
                square[k] = old_squares[k] + delta * self.factor * delta;
                inverse[k] = inverse_deviation(square[k], self.n);
                earlier[k] = bounded(bounded(delta) * old_inverses[k]);
                later[k] = (x[k] - mean[k]) * inverse[k];
                check[k] += square[k] * 0.0;
            }
            (means[j], squares[j], inverses[j]) = (mean, square, inverse);
            (before[j], after[j]) = (earlier, later);
        }
        let mut sum = 0.0;
        for number in check {
            sum += number;
        }
        sum
    }
}

#[inline(never)]
fn scale(x: &[f64], means: &[f64], inverse_deviations: &[f64], out: &mut [f64]) {
    let width = out.len();
    let (x, means, inverses) = (&x[..width], &means[..width], &inverse_deviations[..width]);
    for j in 0..width {
        out[j] = bounded(bounded(x[j] - means[j]) * inverses[j]);
    }
}

/// 1 / √(squares / n), by one division and one root; 0 for a feature that has not varied, or by less than
/// a number can hold.
#[inline(always)]
pub fn inverse_deviation(squares: f64, n: f64) -> f64 {
    let inverse = (n / squares).sqrt();
    // A count as large as weights get can make even such a quotient infinite.
    if squares > 1e-290 && inverse < f64::INFINITY {
        inverse
    } else {
        0.0
    }
}

impl StandardScaler {
    #[inline(always)]
    fn scaled(&self, slot: usize, x: f64) -> f64 {
        let mean = if self.with_mean { self.moments.means[slot] } else { 0.0 };
        let factor = if self.with_std { self.moments.inverse_deviations[slot] } else { 1.0 };
        bounded(bounded(x - mean) * factor)
    }

    /// Every number is there: one count for all, and loops that run in vector registers.
    #[inline]
    fn learn_plain(&mut self, x: &[f64], w: f64, before: &mut [f64], after: &mut [f64]) -> bool {
        let StandardScaler { moments, spare, arch, .. } = self;
        let n = moments.shared_count + w;
        spare.fit(x.len());
        spare.shared_count = n;
        n.is_finite() && arch.dispatch(Welford { x, w, old: moments, new: spare, before, after })
    }

    /// `learn_plain`, or leave everything as it was.
    #[inline]
    fn step_plain(&mut self, x: &[f64], w: f64, before: &mut [f64], after: &mut [f64]) -> Result<()> {
        if !self.learn_plain(x, w, before, after) {
            return Err(Fault::overflow(NAME));
        }
        self.moments.swap(&mut self.spare);
        if self.savepoint != Savepoint::None {
            self.keep();
        }
        Ok(())
    }

    /// Whether a row has all that came with every row so far, and nothing new.
    #[inline]
    fn knows(&self, x: &[f64]) -> bool {
        !x.is_empty() && x.len() == self.moments.means.len() && !self.moments.shared_count.is_nan()
    }

    /// After an example was learned: the moments before it are in `spare`, and those at a savepoint go to `kept`. Buffers
    /// change places, so that a savepoint copies nothing.
    #[cold]
    fn keep(&mut self) {
        match self.savepoint {
            Savepoint::Fresh => {
                std::mem::swap(&mut self.spare, &mut self.kept);
                self.savepoint = Savepoint::First;
            }
            Savepoint::First => self.savepoint = Savepoint::Later,
            Savepoint::None | Savepoint::Later => {}
        }
    }

    /// Before the first example, a row that is learned makes room in the moments first.
    fn forget_room(&mut self) {
        if self.moments.shared_count == 0.0 {
            self.moments = Moments::default();
        }
    }

    fn learn_mixed(&mut self, x: Row<'_>, w: f64) -> bool {
        self.spare.copy_from(&self.moments);
        self.spare.grow(x.width());
        self.spare.separate();
        let spare = &mut self.spare;
        let mut sound = true;
        x.each(|slot, value| {
            if let crate::row::Value::Number(number) = value {
                sound &= spare.counts[slot] > 0.0 || number.abs() <= LARGEST;
                spare.update_slot(slot, number, w);
            }
        });
        sound && spare.finite() && all_finite(&spare.counts)
    }
}

impl Part for StandardScaler {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        let Moments { shared_count, counts, means, squares, inverse_deviations } = &mut self.moments;
        exchange.float(shared_count);
        exchange.floats(counts);
        exchange.floats(means);
        exchange.floats(squares);
        if exchange.is_load() {
            let count = *shared_count;
            let slots = inverse_deviations.iter_mut().zip(squares.iter());
            match count.is_nan() {
                true => slots
                    .zip(counts.iter())
                    .for_each(|((inverse, &squares), &count)| *inverse = inverse_deviation(squares, count)),
                // One number for all, so that the loop runs in vector registers.
                false => slots.for_each(|(inverse, &squares)| *inverse = inverse_deviation(squares, count)),
            }
        }
        true
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.moments)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut moments: Moments = unpack(NAME, bytes)?;
        let width = moments.means.len();
        let shared = !moments.shared_count.is_nan();
        require(NAME, moments.squares.len() == width, "means and squares differ in number")?;
        require(NAME, moments.counts.len() == if shared { 0 } else { width }, "counts of the wrong number")?;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&x| x >= 0.0);
        require(NAME, all_finite(&moments.means) && positive(&moments.squares), "a moment is not finite")?;
        require(NAME, positive(&moments.counts), "a count is not finite")?;
        require(NAME, !shared || positive(&[moments.shared_count]), "a count is not finite")?;
        require(NAME, !shared || width > 0 || moments.shared_count == 0.0, "a count of nothing")?;
        moments.inverse_deviations =
            (0..width).map(|slot| inverse_deviation(moments.squares[slot], moments.count(slot))).collect();
        require(NAME, all_finite(&moments.inverse_deviations), "a moment is not finite")?;
        self.moments = moments;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut there = self.clone();
            there.load(side.state)?;
            let slots = side.slots(merger.ours);
            let (ours, theirs) = (&mut self.moments, &there.moments);
            if sign > 0.0 && ours.means.is_empty() && slots.iter().enumerate().all(|(i, &slot)| i == slot) {
                ours.copy_from(theirs);
                continue;
            }
            let same =
                ours.means.len() == theirs.means.len() && slots.iter().enumerate().all(|(i, &slot)| i == slot);
            let shared = same && !ours.shared_count.is_nan() && !theirs.shared_count.is_nan();
            if !shared {
                let width = slots.iter().take(theirs.means.len()).map(|slot| slot + 1).max().unwrap_or(0);
                ours.separate();
                ours.grow(width);
            }
            let before = ours.shared_count;
            for (i, &slot) in slots.iter().enumerate().take(theirs.means.len()) {
                let here = (ours.count(slot), ours.means[slot], ours.squares[slot]);
                let there = (theirs.count(i), theirs.means[i], theirs.squares[i]);
                let (count, mean, squares) = combined_moments(here, there, sign);
                (ours.means[slot], ours.squares[slot]) = (mean, squares);
                ours.inverse_deviations[slot] = inverse_deviation(squares, count);
                if !shared {
                    ours.counts[slot] = count;
                }
            }
            if shared {
                ours.shared_count = before + sign * theirs.shared_count;
            }
        }
        self.savepoint = Savepoint::None;
        match self.moments.finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    fn savepoint(&mut self) -> bool {
        self.savepoint = Savepoint::Fresh;
        true
    }

    fn rollback(&mut self) {
        if matches!(self.savepoint, Savepoint::First | Savepoint::Later) {
            std::mem::swap(&mut self.moments, &mut self.kept);
            self.forget_room();
        }
        self.savepoint = Savepoint::None;
    }

    fn commit(&mut self) {
        self.savepoint = Savepoint::None;
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::passed()
    }

    fn infallible(&self) -> bool {
        let Moments { shared_count, counts, means, squares, .. } = &self.moments;
        let counts = std::iter::once(shared_count).chain(counts);
        // NaN says that the counts differ.
        !counts.chain(means).any(|number| number.abs() > LARGEST_SUM)
            && squares.iter().all(|&sum| sum <= LARGEST_SUM)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.moments.memory() + self.spare.memory() + self.kept.memory()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let features: serde_json::Map<_, _> = schema
            .names()
            .enumerate()
            .take(self.moments.means.len())
            .filter(|(slot, _)| schema.kinds()[*slot] == FeatureKind::Number)
            .map(|(slot, name)| {
                let n = self.moments.count(slot);
                let variance = if n > 0.0 { self.moments.squares[slot] / n } else { 0.0 };
                (name.text(), json!({ "count": n, "mean": self.moments.means[slot], "variance": variance }))
            })
            .collect();
        json!({ "features": features })
    }
}

impl Transformer for StandardScaler {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let known = self.moments.means.len();
        match x {
            Row::Plain(values) => {
                let out = out.plain(values.len());
                let n = values.len().min(known);
                if self.with_mean && self.with_std {
                    scale(values, &self.moments.means, &self.moments.inverse_deviations, &mut out[..n]);
                } else {
                    for j in 0..n {
                        out[j] = self.scaled(j, values[j]);
                    }
                }
                out[n..].fill(0.0);
            }
            Row::Mixed(..) => out.map(x, |slot, value| if slot < known { self.scaled(slot, value) } else { 0.0 }),
            Row::Sparse(_) => {
                let mut dense = scratch.take_numbers();
                self.transform(x.dense(&mut dense), out, scratch);
                scratch.give_numbers(dense);
            }
        }
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match x {
            Row::Plain(values) if self.with_mean && self.with_std && self.knows(values) => {
                self.step_plain(values, w, before.plain(values.len()), after.plain(values.len()))
            }
            _ => {
                self.transform(x, before, scratch);
                self.learn_and_transform(x, y, w, after, scratch)
            }
        }
    }

    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match x {
            Row::Plain(values) if self.with_mean && self.with_std && self.knows(values) => {
                let mut before = scratch.take_row();
                let learned = self.step_plain(values, w, before.plain(values.len()), out.plain(values.len()));
                scratch.give_row(before);
                learned
            }
            _ => {
                self.learn(x, y, w, scratch)?;
                self.transform(x, out, scratch);
                Ok(())
            }
        }
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let fresh = self.moments.means.is_empty();
        if fresh {
            // Only the first value of a feature can become a mean whose differences overflow: the squares of later ones
            // show in the sums. So the loop over plain rows needs no check.
            check_row(NAME, x, LARGEST)?;
        }
        let sound = match x {
            Row::Plain(values) => {
                if self.moments.means.is_empty() {
                    if values.is_empty() {
                        // A row without features is no example of those to come: it must not be counted.
                        self.spare.copy_from(&self.moments);
                        if self.savepoint != Savepoint::None {
                            self.keep();
                        }
                        return Ok(());
                    }
                    self.moments.grow(values.len());
                }
                if !self.moments.shared_count.is_nan() && values.len() == self.moments.means.len() {
                    let (mut before, mut after) = (scratch.take_row(), scratch.take_row());
                    let width = values.len();
                    let sound = self.learn_plain(values, w, before.plain(width), after.plain(width));
                    scratch.give_row(before);
                    scratch.give_row(after);
                    sound
                } else {
                    self.learn_mixed(x, w)
                }
            }
            Row::Mixed(..) => self.learn_mixed(x, w),
            Row::Sparse(_) => {
                let mut dense = scratch.take_numbers();
                let learned = self.learn(x.dense(&mut dense), Truth::None, w, scratch);
                scratch.give_numbers(dense);
                return learned;
            }
        };
        if !sound {
            if fresh {
                self.moments = Moments::default();
            }
            return Err(Fault::overflow(NAME));
        }
        std::mem::swap(&mut self.moments, &mut self.spare);
        if self.savepoint != Savepoint::None {
            self.keep();
        }
        Ok(())
    }

    fn undo(&mut self) {
        match self.savepoint {
            Savepoint::First => {
                std::mem::swap(&mut self.moments, &mut self.kept);
                self.savepoint = Savepoint::Fresh;
            }
            _ => std::mem::swap(&mut self.moments, &mut self.spare),
        }
        self.forget_room();
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn three_steps_by_hand() {
        let description = registry::resolve(&json!({ "name": NAME })).unwrap();
        let Built::Transformer(mut scaler) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        for x in [1.0, 2.0, 6.0] {
            scaler.learn(Row::Plain(&[x]), Truth::None, 1.0, &mut scratch).unwrap();
        }
        // Mean 3, variance (4 + 1 + 9) / 3 = 14/3.
        let mut out = RowBuffer::default();
        scaler.transform(Row::Plain(&[6.0]), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert!((z[0] - 3.0 / (14.0f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
