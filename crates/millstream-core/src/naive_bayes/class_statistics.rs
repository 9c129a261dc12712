//! The statistics of one class: moments of numbers, counts of nominal values.
//!
//! The constant of the log likelihood is kept with them: it changes for one class per example, and is read
//! for every class.
//!
//! A feature without variance has no density. It counts as 1 at its value; elsewhere the value is
//! *impossible*, and so is a number in a class where the feature was never a number.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::batch::MODERATE;
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::merging::{combined_moments, Side};
use crate::row::{all_finite, Row, Scratch, Sparse, Value};
use crate::schema::Schema;

use super::gaussians::{Gaussians, Moments, Pairs, Step};
use super::likelihood::{LogProduct, BLOCK};
use super::sparse_class_table::{plain_pairs, sparse_pairs, SparseClassTable};

/// A quadratic form beyond this is as good as infinite; it stops here so that scores stay finite.
const FARTHEST: f64 = 1e300;
/// From this many columns on, sparse rows are not expanded. Below, the kernel for dense rows is used.
pub const SPARSE_WIDTH: usize = BLOCK + 1;
/// A loaded class is sparse if fewer than one in this many of its columns are in use.
const MOSTLY: usize = 8;
const LN_TAU: f64 = 1.837_877_066_409_345_3;

/// How well an example fits a class: better with fewer impossible values, then with a higher logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub impossible: u32,
    /// ln(count) + Σ ln p(feature | class) over what is possible.
    pub logarithm: f64,
}

/// How variances and frequencies are estimated.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub alpha: f64,
    pub ddof: f64,
}

#[derive(Clone, Debug, Default)]
pub struct ClassStatistics {
    /// The sum of weights.
    pub count: f64,
    /// Weight in the class distribution beyond its own examples: a tree leaf starts with the distribution of its
    /// parent.
    inherited: f64,
    /// The same by slot, for numbers; empty while every slot came with every example.
    counts: Vec<f64>,
    gaussians: Gaussians,
    /// In place of `gaussians` and `constants`, for a class without missing values that learns wide sparse rows.
    sparse: Option<Box<SparseClassTable>>,
    /// By slot, up to the last nominal one.
    nominals: Vec<Frequencies>,
    /// The slots of a class without missing values that have no variance.
    constants: Vec<u32>,
    /// ln(n + inherited) + ½ Σ ln(inverse variance / 2π), of a class without missing values.
    offset: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Frequencies {
    total: f64,
    by_code: Vec<f64>,
}

/// A class in a saved model; the rest is derived.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SavedClass {
    count: f64,
    #[serde(default, skip_serializing_if = "is_nothing")]
    inherited: f64,
    counts: Vec<f64>,
    means: Vec<f64>,
    squares: Vec<f64>,
    nominals: Vec<Frequencies>,
}

impl SavedClass {
    /// Merge the same class of another model, or subtract it. Features and values are found by name.
    pub fn merge(&mut self, mut other: SavedClass, side: &Side<'_>, ours: &Schema, sign: f64) -> Result<()> {
        let unknown = || Fault::state("the saved state is not valid: a value without a name");
        let slots = side.slots(ours);
        let width = slots.iter().take(other.means.len()).map(|slot| slot + 1).fold(self.means.len(), usize::max);
        if self.count > 0.0
            || !other.counts.is_empty()
            || other.means.len() < width
            || slots.iter().enumerate().any(|(i, &slot)| i != slot)
        {
            // Features that came with some examples only have counts of their own.
            self.separate(width);
            other.separate(other.means.len());
        } else {
            self.means.resize(width, 0.0);
            self.squares.resize(width, 0.0);
        }
        let shared = other.counts.is_empty();
        for (i, &slot) in slots.iter().enumerate().take(other.means.len()) {
            let theirs = (if shared { other.count } else { other.counts[i] }, other.means[i], other.squares[i]);
            let here = if self.counts.is_empty() { self.count } else { self.counts[slot] };
            let (count, mean, squares) =
                combined_moments((here, self.means[slot], self.squares[slot]), theirs, sign);
            (self.means[slot], self.squares[slot]) = (mean, squares);
            if let Some(own) = self.counts.get_mut(slot) {
                *own = count;
            }
        }
        self.count = (self.count + sign * other.count).max(0.0);
        self.inherited = (self.inherited + sign * other.inherited).max(0.0);
        // The usual case: every feature came with every example.
        if self.counts.iter().all(|&count| count == self.count) {
            self.counts.clear();
        }
        for (i, theirs) in other.nominals.into_iter().enumerate().filter(|(_, theirs)| theirs.total > 0.0) {
            let slot = *slots.get(i).ok_or_else(unknown)?;
            if self.nominals.len() <= slot {
                self.nominals.resize_with(slot + 1, Frequencies::default);
            }
            let here = &mut self.nominals[slot];
            for (code, &frequency) in theirs.by_code.iter().enumerate().filter(|(_, &frequency)| frequency > 0.0) {
                let text = side.schema.values(i).text(code as u32).ok_or_else(unknown)?;
                let code = ours.code(slot as u32, text).ok_or_else(unknown)? as usize;
                if here.by_code.len() <= code {
                    here.by_code.resize(code + 1, 0.0);
                }
                here.by_code[code] = (here.by_code[code] + sign * frequency).max(0.0);
            }
            here.total = (here.total + sign * theirs.total).clamp(0.0, self.count);
            // Rounding of differences must not leave more than the total.
            let total = here.total;
            here.by_code.iter_mut().for_each(|frequency| *frequency = frequency.min(total));
        }
        Ok(())
    }

    /// Give each feature a count of its own.
    fn separate(&mut self, width: usize) {
        if self.counts.is_empty() {
            self.counts = vec![self.count; self.means.len()];
        }
        for numbers in [&mut self.counts, &mut self.means, &mut self.squares] {
            numbers.resize(width, 0.0);
        }
    }
}

fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}

impl ClassStatistics {
    /// A class whose examples are elsewhere.
    pub fn inheriting(inherited: f64) -> Self {
        let mut class = ClassStatistics { inherited, ..Self::default() };
        class.settle();
        class
    }

    /// Its weight among classes.
    #[inline(always)]
    pub fn prior(&self) -> f64 {
        self.count + self.inherited
    }

    /// The number of slots, if every one of them came as a number with every example.
    pub fn plain_width(&self) -> Option<usize> {
        (self.counts.is_empty() && self.nominals.is_empty()).then_some(self.width())
    }

    pub fn width(&self) -> usize {
        self.sparse.as_ref().map_or(self.gaussians.width(), |sparse| sparse.width())
    }

    fn inverse_of(&self, slot: usize) -> f64 {
        self.sparse.as_ref().map_or_else(|| self.gaussians.inverse(slot), |sparse| sparse.inverse(slot))
    }

    fn moments_of(&self, slot: usize) -> Moments {
        self.sparse.as_ref().map_or_else(|| self.gaussians.moments(slot), |sparse| sparse.moments(slot))
    }

    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Switch to sparse statistics. Only for a class without missing values.
    pub fn make_sparse(&mut self) {
        if self.sparse.is_none() {
            self.sparse = Some(Box::new(SparseClassTable::new(&self.gaussians)));
            (self.gaussians, self.constants) = (Gaussians::default(), Vec::new());
        }
    }

    /// Switch to dense statistics.
    pub fn write_out(&mut self) {
        if let Some(sparse) = self.sparse.take() {
            self.gaussians = sparse.written_out();
            self.settle();
        }
    }

    /// Learn a sparse row, of the plain width if this is not the first. False if it would overflow.
    pub fn learn_sparse(
        &mut self,
        x: Sparse<'_>,
        w: f64,
        estimate: Estimate,
        spare: &mut SparseClassTable,
    ) -> bool {
        let n = self.count + w;
        if self.count == 0.0 {
            self.sparse = Some(Box::new(SparseClassTable::first(x)));
        } else {
            self.make_sparse();
        }
        let Some(sparse) = &mut self.sparse else { return false };
        if self.count > 0.0 {
            if !n.is_finite() || !sparse.propose(x, Step::new(w, n, estimate.ddof), spare) {
                return false;
            }
            std::mem::swap(&mut **sparse, spare);
        }
        let (product, variances) = sparse.product();
        self.count = n;
        self.set_offset(product, variances);
        true
    }

    /// The fit of a sparse row of the plain width; none if this class is not sparse.
    pub fn fit_sparse(&self, x: Sparse<'_>) -> Option<Fit> {
        self.sparse.as_ref().map(|sparse| self.fit_of(sparse.fit(sparse_pairs(x))))
    }

    fn fit_of(&self, (form, impossible): (f64, u32)) -> Fit {
        Fit { impossible, logarithm: self.offset - 0.5 * form.min(FARTHEST) }
    }

    /// Learn a row without missing values, of the plain width if this is not the first. False if it would
    /// overflow; then nothing has changed.
    pub fn learn_plain(&mut self, x: &[f64], w: f64, estimate: Estimate, spare: &mut Gaussians) -> bool {
        let n = self.count + w;
        let step = Step::new(w, n, estimate.ddof);
        if self.count > 0.0 && self.is_smooth(step) {
            let (_, product) = self.gaussians.propose(&Pairs::new(x), step, spare);
            if self.accept(n, product, spare) {
                return true;
            }
        }
        self.learn_any(x, n, step, spare)
    }

    /// The same, and how well the row fitted before. The fast kernel must suit.
    #[inline(always)]
    pub fn fit_and_learn(
        &mut self,
        x: &[f64],
        pairs: &Pairs<'_>,
        n: f64,
        step: Step,
        spare: &mut Gaussians,
    ) -> (Fit, bool) {
        let (form, product) = self.gaussians.propose(pairs, step, spare);
        let fit = Fit { impossible: 0, logarithm: self.offset - 0.5 * form.min(FARTHEST) };
        let learned = self.accept(n, product, spare) || self.learn_any(x, n, step, spare);
        (fit, learned)
    }

    /// Whether every number has a variance, and the fast kernel suits the step.
    #[inline(always)]
    pub fn is_smooth(&self, step: Step) -> bool {
        self.sparse.is_none() && self.constants.is_empty() && self.gaussians.suits(step)
    }

    #[inline(always)]
    fn accept(&mut self, n: f64, product: Option<LogProduct>, spare: &mut Gaussians) -> bool {
        let Some(product) = product.filter(|_| n.is_finite()) else { return false };
        std::mem::swap(&mut self.gaussians, spare);
        self.count = n;
        self.set_offset(product, self.gaussians.width());
        true
    }

    #[cold]
    fn learn_any(&mut self, x: &[f64], n: f64, step: Step, spare: &mut Gaussians) -> bool {
        if self.count == 0.0 {
            self.gaussians.grow(x.len());
            for (slot, &mean) in x.iter().enumerate() {
                self.gaussians.set(slot, Moments { mean, squares: 0.0 }, 0.0);
            }
        } else {
            if !n.is_finite() || self.gaussians.propose_any(x, step, spare).is_none() {
                return false;
            }
            std::mem::swap(&mut self.gaussians, spare);
        }
        self.count = n;
        self.settle();
        true
    }

    /// Derive `constants` and `offset`.
    fn settle(&mut self) {
        self.constants.clear();
        let constant = |slot: &u32| self.gaussians.inverse(*slot as usize) == 0.0;
        self.constants.extend((0..self.gaussians.width() as u32).filter(constant));
        // Most classes soon have none, and trees have many classes.
        self.constants.shrink_to_fit();
        self.set_offset(self.gaussians.product(), self.gaussians.width() - self.constants.len());
    }

    #[inline(always)]
    fn set_offset(&mut self, mut product: LogProduct, variances: usize) {
        let count = self.prior().max(f64::MIN_POSITIVE);
        product.times(count);
        product.times(count);
        self.offset = 0.5 * (product.logarithm() - variances as f64 * LN_TAU);
    }

    /// Learn what is present of any dense row. False if it would overflow; then nothing has changed.
    pub fn learn_present(&mut self, x: Row<'_>, w: f64, estimate: Estimate, scratch: &mut Scratch) -> bool {
        let mut news = scratch.take_numbers();
        let mut sound = (self.count + w).is_finite();
        x.each(|slot, value| match value {
            Value::Number(x) => {
                let before = self.count_of(slot);
                let n = before + w;
                let moments = match before > 0.0 {
                    true => self.gaussians.moments(slot).updated(x, Step::new(w, n, estimate.ddof)),
                    false => Moments { mean: x, squares: 0.0 },
                };
                sound &= n.is_finite() && moments.sound(n - estimate.ddof);
                news.extend_from_slice(&[n, moments.mean, moments.squares]);
            }
            Value::Nominal(Some(_)) => {
                let total = self.nominals.get(slot).map_or(0.0, |frequencies| frequencies.total);
                sound &= (total + w).is_finite();
            }
            Value::Nominal(None) => {}
        });
        if sound {
            self.separate();
            self.count += w;
            let mut news = news.chunks_exact(3);
            x.each(|slot, value| match value {
                Value::Number(_) => {
                    if let Some(&[n, mean, squares]) = news.next() {
                        self.gaussians.set(slot, Moments { mean, squares }, n - estimate.ddof);
                        self.counts.resize(self.gaussians.width(), 0.0);
                        self.counts[slot] = n;
                    }
                }
                Value::Nominal(Some(code)) => self.count_value(slot, code as usize, w),
                Value::Nominal(None) => {}
            });
        }
        scratch.give_numbers(news);
        sound
    }

    fn count_of(&self, slot: usize) -> f64 {
        match self.counts.get(slot) {
            Some(&count) => count,
            None if slot < self.width() => self.count,
            None => 0.0,
        }
    }

    /// Give each slot a count of its own.
    fn separate(&mut self) {
        self.counts.resize(self.gaussians.width(), self.count);
        self.constants.clear();
        self.offset = 0.0;
    }

    fn count_value(&mut self, slot: usize, code: usize, w: f64) {
        if self.nominals.len() <= slot {
            self.nominals.reserve_exact(slot + 1 - self.nominals.len());
            self.nominals.resize(slot + 1, Frequencies::default());
        }
        let frequencies = &mut self.nominals[slot];
        if frequencies.by_code.len() <= code {
            frequencies.by_code.reserve_exact(code + 1 - frequencies.by_code.len());
            frequencies.by_code.resize(code + 1, 0.0);
        }
        frequencies.by_code[code] += w;
        frequencies.total += w;
    }

    /// The fit of a row without missing values, for a class whose `plain_width` is that of the row.
    #[inline(always)]
    pub fn fit_plain(&self, x: &[f64], pairs: &Pairs<'_>) -> Fit {
        if self.count == 0.0 {
            return Fit { impossible: x.len() as u32, logarithm: self.offset };
        }
        if let Some(sparse) = &self.sparse {
            return self.fit_of(sparse.fit(plain_pairs(x)));
        }
        let form = self.gaussians.quadratic_form(pairs);
        let mut impossible = 0;
        for &slot in &self.constants {
            impossible += u32::from(x[slot as usize] != self.gaussians.moments(slot as usize).mean);
        }
        Fit { impossible, logarithm: self.offset - 0.5 * form.min(FARTHEST) }
    }

    /// The fit of what is present; `values` is the number of distinct values of each nominal slot.
    pub fn fit_present(&self, x: Row<'_>, alpha: f64, values: &[u32]) -> Fit {
        let (mut densities, mut frequencies) = (LogProduct::default(), LogProduct::default());
        let (mut form, mut impossible) = (0.0, 0);
        x.each(|slot, value| match value {
            Value::Number(x) if self.count_of(slot) > 0.0 => {
                let (mean, inverse) = (self.moments_of(slot).mean, self.inverse_of(slot));
                if inverse > 0.0 {
                    let distance = x - mean;
                    form += distance * distance * inverse;
                    densities.times(inverse / TAU);
                } else {
                    impossible += u32::from(x != mean);
                }
            }
            Value::Number(_) => impossible += 1,
            Value::Nominal(Some(code)) => {
                // A value that no class has learned carries no information.
                let Some(&distinct) = values.get(slot).filter(|&&distinct| code < distinct) else { return };
                let (count, total) = match self.nominals.get(slot) {
                    Some(known) => (known.by_code.get(code as usize).copied().unwrap_or(0.0), known.total),
                    None => (0.0, 0.0),
                };
                let fraction = (count + alpha) / (total + alpha * f64::from(distinct));
                if fraction >= f64::MIN_POSITIVE {
                    frequencies.times(fraction);
                } else {
                    impossible += 1;
                }
            }
            Value::Nominal(None) => {}
        });
        let densities = 0.5 * (densities.logarithm() - form.min(FARTHEST));
        Fit { impossible, logarithm: self.prior().ln() + densities + frequencies.logarithm() }
    }

    /// Raise `values` to the number of distinct values that this class knows of, by slot.
    pub fn count_distinct(&self, values: &mut Vec<u32>) {
        values.resize(values.len().max(self.nominals.len()), 0);
        for (most, frequencies) in values.iter_mut().zip(&self.nominals) {
            *most = (*most).max(frequencies.by_code.len() as u32);
        }
    }

    /// The values of a nominal slot with their counts, by code.
    pub fn frequencies(&self, slot: usize) -> &[f64] {
        self.nominals.get(slot).map_or(&[], |known| &known.by_code)
    }

    pub fn saved(&self) -> SavedClass {
        let written = self.sparse.as_ref().map(|sparse| sparse.written_out());
        let gaussians = written.as_ref().unwrap_or(&self.gaussians);
        let moments = (0..gaussians.width()).map(|slot| gaussians.moments(slot));
        SavedClass {
            count: self.count,
            inherited: self.inherited,
            counts: self.counts.clone(),
            means: moments.clone().map(|moments| moments.mean).collect(),
            squares: moments.map(|moments| moments.squares).collect(),
            nominals: self.nominals.clone(),
        }
    }

    /// Check what was saved and derive the rest.
    pub fn restored(saved: SavedClass, who: &str, estimate: Estimate) -> Result<Self> {
        let SavedClass { count, inherited, counts, means, squares, nominals } = saved;
        let width = means.len();
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&number| number >= 0.0);
        require(who, positive(&[count, inherited]), "a count is not finite")?;
        require(who, (count + inherited).is_finite(), "a count is not finite")?;
        require(who, squares.len() == width, "means and squares differ in number")?;
        require(who, [0, width].contains(&counts.len()), "counts of the wrong number")?;
        require(who, positive(&squares) && positive(&counts), "a moment is not finite")?;
        require(who, count > 0.0 || (width == 0 && nominals.is_empty()), "a class without examples")?;
        for frequencies in &nominals {
            let sound = positive(&frequencies.by_code) && positive(&[frequencies.total]);
            require(who, sound, "a frequency is not finite")?;
            // Rounding is monotonic: a sum of some of the weights never exceeds the sum of all of them.
            let fit = frequencies.by_code.iter().all(|&frequency| frequency <= frequencies.total);
            require(who, fit && frequencies.total <= count, "a frequency exceeds the total")?;
        }
        let mut class = ClassStatistics { count, inherited, counts, nominals, ..Self::default() };
        class.gaussians.grow(width);
        for (slot, (&mean, &squares)) in means.iter().zip(&squares).enumerate() {
            let moments = Moments { mean, squares };
            let divisor = class.counts.get(slot).unwrap_or(&count) - estimate.ddof;
            require(who, moments.sound(divisor), "a moment is not finite")?;
            class.gaussians.set(slot, moments, divisor);
        }
        if class.counts.is_empty() && class.prior() > 0.0 {
            class.settle();
            let sparse = SparseClassTable::new(&class.gaussians);
            if width >= SPARSE_WIDTH && sparse.len() < width / MOSTLY {
                class.make_sparse();
            }
        }
        Ok(class)
    }

    /// (count, mean, variance) of a number.
    pub fn moments(&self, slot: usize, ddof: f64) -> Option<(f64, f64, f64)> {
        let n = self.count_of(slot);
        let Moments { mean, squares } = self.moments_of(slot);
        (n > 0.0).then(|| (n, mean, if n > ddof { squares / (n - ddof) } else { 0.0 }))
    }

    /// Whether all sums are up to `largest`, and all means moderate.
    pub fn is_roomy(&self, largest: f64) -> bool {
        let moments = |slot| self.moments_of(slot);
        self.prior() <= largest
            && self.counts.iter().all(|&count| count <= largest)
            && self.nominals.iter().all(|known| known.total <= largest)
            && (0..self.width())
                .map(moments)
                .all(|Moments { mean, squares }| mean.abs() <= MODERATE && squares <= largest)
    }

    /// The count of a nominal value.
    pub fn frequency(&self, slot: usize, code: usize) -> f64 {
        self.nominals.get(slot).and_then(|known| known.by_code.get(code)).copied().unwrap_or(0.0)
    }

    /// Counted from what is there, not from what vectors happen to reserve, so that it is the same after loading.
    pub fn memory(&self) -> usize {
        let nominals = self.nominals.iter().map(|known| 32 + 8 * known.by_code.len());
        std::mem::size_of::<Self>()
            + self.gaussians.memory()
            + self.sparse.as_ref().map_or(0, |sparse| sparse.memory())
            + 8 * self.counts.len()
            + nominals.sum::<usize>()
            + 4 * self.constants.len()
    }
}
