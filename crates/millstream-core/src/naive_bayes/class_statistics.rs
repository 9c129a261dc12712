//! What one class has shown: moments of numbers, counts of nominal values.
//!
//! The moments follow West (1979): n ← n + w, δ = x − m, m ← m + δ w/n, s ← s + w δ (x − m). Inverse
//! variances and the constant of the log likelihood are kept beside them: they change for one class per
//! example, and are read for every class.
//!
//! A feature without variance has no density. It counts as 1 at its value; elsewhere the value is
//! *impossible*, and so is a number where the class has never shown one.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::row::{all_finite, Row, Scratch, Value};
use crate::state::require;

use super::logarithm::Product;

/// A quadratic form beyond this is as good as infinite; it stops here so that scores stay finite.
const FARTHEST: f64 = 1e300;

/// How well an example fits a class: better with fewer impossible values, then with a higher logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub impossible: u32,
    /// ln P(class) + Σ ln p(feature | class) over what is possible, but for a term that all classes share.
    pub logarithm: f64,
}

/// How variances and frequencies are estimated.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub alpha: f64,
    pub ddof: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassStatistics {
    /// The sum of weights.
    pub count: f64,
    /// The same by slot, for numbers; empty while every slot came with every example.
    counts: Vec<f64>,
    means: Vec<f64>,
    /// Σ w (x − mean)²
    squares: Vec<f64>,
    /// By slot, up to the last nominal one.
    nominals: Vec<Frequencies>,
    /// By slot; 0 if there is no variance.
    #[serde(skip)]
    inverses: Vec<f64>,
    /// The slots of a class without missing values that have no variance.
    #[serde(skip)]
    constants: Vec<u32>,
    /// ln n + ½ Σ ln(inverse variance / 2π), of a class without missing values.
    #[serde(skip)]
    offset: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Frequencies {
    total: f64,
    by_code: Vec<f64>,
}

/// Room for new moments, which are swapped in when they are sound.
#[derive(Clone, Debug, Default)]
pub struct Spare {
    means: Vec<f64>,
    squares: Vec<f64>,
    inverses: Vec<f64>,
}

/// Infinite or NaN without variance, below `f64::MIN_POSITIVE` if the variance is too large to work with.
#[inline(always)]
fn inverse_variance(squares: f64, n: f64, ddof: f64) -> f64 {
    (n - ddof) / squares
}

/// West's step; the increment of the squares can only be negative by rounding.
#[inline(always)]
fn updated(mean: f64, squares: f64, x: f64, w: f64, share: f64) -> (f64, f64) {
    let delta = x - mean;
    let mean = mean + delta * share;
    let increment = w * (delta * (x - mean));
    (mean, squares + if increment < 0.0 { 0.0 } else { increment })
}

impl ClassStatistics {
    /// The number of slots, if every one of them came as a number with every example.
    pub fn plain_width(&self) -> Option<usize> {
        (self.counts.is_empty() && self.nominals.is_empty()).then_some(self.means.len())
    }

    /// Learn a row without missing values. False if it would overflow; then nothing has changed.
    #[inline]
    pub fn learn_plain(&mut self, x: &[f64], w: f64, estimate: Estimate, spare: &mut Spare) -> bool {
        let width = x.len();
        let n = self.count + w;
        let share = w / n;
        for numbers in [&mut spare.means, &mut spare.squares, &mut spare.inverses] {
            numbers.resize(width, 0.0);
        }
        if self.count == 0.0 {
            spare.means.copy_from_slice(x);
            spare.squares.fill(0.0);
        } else {
            let (means, squares) = (&self.means[..width], &self.squares[..width]);
            let (new_means, new_squares) = (&mut spare.means[..width], &mut spare.squares[..width]);
            for j in 0..width {
                (new_means[j], new_squares[j]) = updated(means[j], squares[j], x[j], w, share);
            }
        }
        if !(n.is_finite() && all_finite(&spare.means) && all_finite(&spare.squares)) {
            return false;
        }
        let lowest = invert(&mut spare.inverses[..width], &spare.squares[..width], n, estimate.ddof);
        if lowest < f64::MIN_POSITIVE {
            return false;
        }
        std::mem::swap(&mut self.means, &mut spare.means);
        std::mem::swap(&mut self.squares, &mut spare.squares);
        std::mem::swap(&mut self.inverses, &mut spare.inverses);
        self.count = n;
        self.settle();
        true
    }

    /// Derive `constants` and `offset` from inverse variances that are infinite where there is none.
    #[inline]
    fn settle(&mut self) {
        self.constants.clear();
        let mut product = Product::default();
        product.times(self.count);
        product.times(self.count);
        let mut sum = 0.0;
        for &inverse in &self.inverses {
            sum += inverse * 0.0;
        }
        if sum == 0.0 {
            product.times_all(&self.inverses);
        } else {
            for (slot, inverse) in self.inverses.iter_mut().enumerate() {
                if inverse.is_finite() {
                    product.times(*inverse);
                } else {
                    *inverse = 0.0;
                    self.constants.push(slot as u32);
                }
            }
        }
        let gaussians = (self.inverses.len() - self.constants.len()) as f64;
        self.offset = 0.5 * (product.logarithm() - gaussians * TAU.ln());
    }

    /// Learn what is present of any dense row. False if it would overflow; then nothing has changed.
    pub fn learn_present(&mut self, x: Row<'_>, w: f64, estimate: Estimate, scratch: &mut Scratch) -> bool {
        let mut news = scratch.take_numbers();
        let mut sound = (self.count + w).is_finite();
        let mut width = self.means.len();
        x.each(|slot, value| match value {
            Value::Number(x) => {
                let n = self.count_of(slot) + w;
                let (mean, squares) = match self.means.get(slot) {
                    Some(&mean) if n > w => updated(mean, self.squares[slot], x, w, w / n),
                    _ => (x, 0.0),
                };
                let inverse = inverse_variance(squares, n, estimate.ddof);
                let moments = [n, mean, squares];
                sound &= all_finite(&moments) && !(inverse > 0.0 && inverse < f64::MIN_POSITIVE);
                news.extend_from_slice(&moments);
                width = width.max(slot + 1);
            }
            Value::Nominal(Some(_)) => {
                let total = self.nominals.get(slot).map_or(0.0, |frequencies| frequencies.total);
                sound &= (total + w).is_finite();
            }
            Value::Nominal(None) => {}
        });
        if sound {
            self.separate(width);
            self.count += w;
            let mut news = news.chunks_exact(3);
            x.each(|slot, value| match value {
                Value::Number(_) => {
                    if let Some(&[n, mean, squares]) = news.next() {
                        self.counts[slot] = n;
                        self.means[slot] = mean;
                        self.squares[slot] = squares;
                        self.inverses[slot] = usable(inverse_variance(squares, n, estimate.ddof));
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
            None if slot < self.means.len() => self.count,
            None => 0.0,
        }
    }

    /// Give each of `width` slots a count of its own.
    fn separate(&mut self, width: usize) {
        self.counts.resize(self.means.len(), self.count);
        for numbers in [&mut self.counts, &mut self.means, &mut self.squares, &mut self.inverses] {
            numbers.resize(width, 0.0);
        }
        self.constants.clear();
        self.offset = 0.0;
    }

    fn count_value(&mut self, slot: usize, code: usize, w: f64) {
        if self.nominals.len() <= slot {
            self.nominals.resize(slot + 1, Frequencies::default());
        }
        let frequencies = &mut self.nominals[slot];
        if frequencies.by_code.len() <= code {
            frequencies.by_code.resize(code + 1, 0.0);
        }
        frequencies.by_code[code] += w;
        frequencies.total += w;
    }

    /// The fit of a row without missing values, for a class whose `plain_width` is that of the row.
    #[inline]
    pub fn fit_plain(&self, x: &[f64]) -> Fit {
        let width = x.len();
        let (means, inverses) = (&self.means[..width], &self.inverses[..width]);
        let mut lanes = [0.0f64; 4];
        let mut j = 0;
        while j + 4 <= width {
            for lane in 0..4 {
                let distance = x[j + lane] - means[j + lane];
                lanes[lane] += distance * distance * inverses[j + lane];
            }
            j += 4;
        }
        for lane in 0..width - j {
            let distance = x[j + lane] - means[j + lane];
            lanes[lane] += distance * distance * inverses[j + lane];
        }
        let form = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        let mut impossible = 0;
        for &slot in &self.constants {
            impossible += u32::from(x[slot as usize] != means[slot as usize]);
        }
        Fit { impossible, logarithm: self.offset - 0.5 * form.min(FARTHEST) }
    }

    /// The fit of what is present; `values` is the number of distinct values of each nominal slot.
    pub fn fit_present(&self, x: Row<'_>, alpha: f64, values: &[u32]) -> Fit {
        let (mut densities, mut frequencies) = (Product::default(), Product::default());
        let (mut form, mut impossible) = (0.0, 0);
        x.each(|slot, value| match value {
            Value::Number(x) => match self.inverses.get(slot) {
                Some(&inverse) if inverse > 0.0 => {
                    let distance = x - self.means[slot];
                    form += distance * distance * inverse;
                    densities.times((inverse / TAU).max(f64::MIN_POSITIVE));
                }
                Some(_) if self.count_of(slot) > 0.0 => impossible += u32::from(x != self.means[slot]),
                _ => impossible += 1,
            },
            Value::Nominal(Some(code)) => {
                // A value that no class has learned says nothing of the class.
                let Some(&distinct) = values.get(slot).filter(|&&distinct| code < distinct) else { return };
                let (count, total) = match self.nominals.get(slot) {
                    Some(known) => (known.by_code.get(code as usize).copied().unwrap_or(0.0), known.total),
                    None => (0.0, 0.0),
                };
                let share = (count + alpha) / (total + alpha * f64::from(distinct));
                if share >= f64::MIN_POSITIVE {
                    frequencies.times(share);
                } else {
                    impossible += 1;
                }
            }
            Value::Nominal(None) => {}
        });
        let logarithm =
            self.count.ln() + 0.5 * (densities.logarithm() - form.min(FARTHEST)) + frequencies.logarithm();
        Fit { impossible, logarithm }
    }

    /// Raise `values` to the number of distinct values that this class knows of, by slot.
    pub fn count_distinct(&self, values: &mut Vec<u32>) {
        values.resize(values.len().max(self.nominals.len()), 0);
        for (most, frequencies) in values.iter_mut().zip(&self.nominals) {
            *most = (*most).max(frequencies.by_code.len() as u32);
        }
    }

    /// Check a loaded state and derive what is not saved.
    pub fn restore(&mut self, who: &str, estimate: Estimate) -> Result<()> {
        let width = self.means.len();
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&number| number >= 0.0);
        require(who, positive(&[self.count]), "a count is not finite")?;
        require(who, self.squares.len() == width, "means and squares differ in number")?;
        require(who, [0, width].contains(&self.counts.len()), "counts of the wrong number")?;
        require(who, all_finite(&self.means) && positive(&self.squares), "a moment is not finite")?;
        require(who, positive(&self.counts), "a count is not finite")?;
        require(who, self.count > 0.0 || (width == 0 && self.nominals.is_empty()), "a class without examples")?;
        for frequencies in &self.nominals {
            let sound = positive(&frequencies.by_code) && positive(&[frequencies.total]);
            require(who, sound, "a frequency is not finite")?;
        }
        self.inverses = vec![0.0; width];
        let lowest = match self.counts.is_empty() {
            true => invert(&mut self.inverses, &self.squares, self.count, estimate.ddof),
            false => (0..width).fold(f64::INFINITY, |lowest, slot| {
                let inverse = inverse_variance(self.squares[slot], self.counts[slot], estimate.ddof);
                self.inverses[slot] = usable(inverse);
                if inverse > 0.0 {
                    lowest.min(inverse)
                } else {
                    lowest
                }
            }),
        };
        require(who, lowest >= f64::MIN_POSITIVE, "a variance is too large")?;
        if self.counts.is_empty() && self.count > 0.0 {
            self.settle();
        }
        Ok(())
    }

    /// (count, mean, variance) of a number.
    pub fn moments(&self, slot: usize, ddof: f64) -> Option<(f64, f64, f64)> {
        let n = self.count_of(slot);
        let variance = if n > ddof { self.squares.get(slot)? / (n - ddof) } else { 0.0 };
        (n > 0.0).then(|| Some((n, *self.means.get(slot)?, variance)))?
    }

    /// The count of a nominal value.
    pub fn frequency(&self, slot: usize, code: usize) -> f64 {
        self.nominals.get(slot).and_then(|known| known.by_code.get(code)).copied().unwrap_or(0.0)
    }

    pub fn memory(&self) -> usize {
        let numbers = [&self.counts, &self.means, &self.squares, &self.inverses];
        let nominals = self.nominals.iter().map(|known| 32 + 8 * known.by_code.capacity());
        std::mem::size_of::<Self>()
            + numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>()
            + nominals.sum::<usize>()
            + 4 * self.constants.capacity()
    }
}

impl Spare {
    pub fn memory(&self) -> usize {
        8 * (self.means.capacity() + self.squares.capacity() + self.inverses.capacity())
    }
}

/// An inverse variance to multiply by: 0 where there is no variance.
fn usable(inverse: f64) -> f64 {
    if inverse.is_finite() && inverse > 0.0 {
        inverse
    } else {
        0.0
    }
}

/// All inverse variances, infinite without variance; returns the lowest.
#[inline]
fn invert(inverses: &mut [f64], squares: &[f64], n: f64, ddof: f64) -> f64 {
    let divisor = n - ddof;
    if divisor <= 0.0 {
        inverses.fill(f64::INFINITY);
        return f64::INFINITY;
    }
    let mut lowest = [f64::INFINITY; 2];
    for (inverse, square) in inverses.iter_mut().zip(squares) {
        *inverse = divisor / square;
    }
    for pair in inverses.chunks(2) {
        for (low, &inverse) in lowest.iter_mut().zip(pair) {
            *low = if inverse < *low { inverse } else { *low };
        }
    }
    lowest[0].min(lowest[1])
}
