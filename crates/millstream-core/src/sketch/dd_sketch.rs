//! DDSketch (Masson, Rim and Lee, 2019, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error
//! guarantees", PVLDB 12(12)).
//!
//! A positive number x falls into the bin i = ⌈log_γ x⌉ with γ = (1 + α) / (1 - α) (equation 1), whose middle
//! 2 γ^i / (γ + 1) is within α x of x (proposition 2). Negative numbers have bins of their own, and 0 has a counter.
//! If the bins of one sign exceed `max_bins`, those of the smallest size are added to the next (algorithm 3): quantiles
//! beyond them keep the guarantee. The result does not depend on the order of items or merges.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::MISSING;
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Bounds, Default, Kind, Parameter};

const NAME: &str = "sketch.DDSketch";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "Quantiles of numbers within a relative error of value",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "relative_accuracy",
            Kind::Float(Bounds::new(1e-6, true, 0.5, true)),
            Default::Float(0.01),
            "largest relative error of a quantile",
        ),
        Parameter::new(
            "max_bins",
            Kind::Integer { low: 2, high: 1 << 24 },
            Default::Integer(2048),
            "largest number of bins for positive, and for negative numbers",
        ),
        MISSING,
    ],
    build: |arguments| {
        built(arguments, DdSketch::new(arguments.float("relative_accuracy")?, arguments.size("max_bins")?))
    },
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct DdSketch {
    relative_accuracy: f64,
    max_bins: usize,
    /// The logarithm of γ.
    log_gamma: f64,
    positive: Bins,
    negative: Bins,
    zeros: f64,
    min: f64,
    max: f64,
}

/// Weights of consecutive bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bins {
    /// The index of the first bin.
    first: i64,
    weights: Vec<f64>,
    /// Whether smaller numbers may have been added to the first bin.
    collapsed: bool,
}

impl Bins {
    fn add(&mut self, index: i64, w: f64, max_bins: usize) {
        if self.weights.is_empty() {
            self.first = index;
            self.weights.push(w);
            return;
        }
        let last = self.first + self.weights.len() as i64 - 1;
        if index > last {
            self.weights.resize((index.min(last + max_bins as i64) - self.first) as usize + 1, 0.0);
            let lowest = index - max_bins as i64 + 1;
            if lowest > self.first {
                self.drop_below(lowest, index);
            }
        } else if index < self.first {
            let lowest = index.max(last - max_bins as i64 + 1);
            self.collapsed |= lowest > index;
            if lowest < self.first {
                let more = (self.first - lowest) as usize;
                self.weights.splice(..0, std::iter::repeat_n(0.0, more));
                self.first = lowest;
            }
        }
        let place = (index - self.first).max(0) as usize;
        self.weights[place] += w;
    }

    /// Add the bins below `lowest` to it; `last` is the last bin then.
    fn drop_below(&mut self, lowest: i64, last: i64) {
        let gone = ((lowest - self.first) as usize).min(self.weights.len());
        let weight: f64 = self.weights.drain(..gone).sum();
        self.weights.resize((last - lowest) as usize + 1, 0.0);
        self.first = lowest;
        self.weights[0] += weight;
        self.collapsed |= weight > 0.0;
    }

    fn merge(&mut self, other: &Bins, max_bins: usize) {
        // From the top, so that no bin is added which is dropped again.
        for (place, &w) in other.weights.iter().enumerate().rev() {
            if w > 0.0 {
                self.add(other.first + place as i64, w, max_bins);
            }
        }
        self.collapsed |= other.collapsed;
    }

    fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn is_valid(&self, max_bins: usize) -> bool {
        let ends = |weight: Option<&f64>| weight.is_none_or(|&w| w > 0.0);
        self.weights.len() <= max_bins
            && self.first.unsigned_abs() < 1 << 40
            && self.weights.iter().all(|w| (0.0..f64::INFINITY).contains(w))
            && ends(self.weights.last())
    }
}

impl DdSketch {
    fn new(relative_accuracy: f64, max_bins: usize) -> Self {
        DdSketch {
            relative_accuracy,
            max_bins,
            log_gamma: ln((1.0 + relative_accuracy) / (1.0 - relative_accuracy)),
            positive: Bins::default(),
            negative: Bins::default(),
            zeros: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }

    fn index(&self, size: f64) -> i64 {
        (ln(size) / self.log_gamma).ceil() as i64
    }

    fn middle(&self, index: i64) -> f64 {
        // γ^i · 2 / (γ + 1) with γ + 1 = 2 / (1 - α). In two factors, because γ^i may overflow where the product does not.
        let half = exp(0.5 * index as f64 * self.log_gamma);
        half * (1.0 - self.relative_accuracy) * half
    }

    /// Bins as pairs of a value and a weight, ascending.
    fn ascending(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let middle = |bins: &Bins, place: usize| self.middle(bins.first + place as i64);
        let negative = self.negative.weights.iter().enumerate().rev();
        let positive = self.positive.weights.iter().enumerate();
        negative
            .map(move |(place, &w)| (-middle(&self.negative, place), w))
            .chain(std::iter::once((0.0, self.zeros)))
            .chain(positive.map(move |(place, &w)| (middle(&self.positive, place), w)))
            .filter(|&(_, w)| w > 0.0)
            .map(|(value, w)| (value.clamp(self.min, self.max), w))
    }

    fn weight(&self) -> f64 {
        self.negative.weight() + self.zeros + self.positive.weight()
    }

    fn quantile(&self, q: f64) -> f64 {
        if q <= 0.0 || q >= 1.0 || self.weight() == 0.0 {
            return match self.weight() == 0.0 {
                true => f64::NAN,
                false if q <= 0.0 => self.min,
                false => self.max,
            };
        }
        let wanted = q * self.weight();
        let mut below = 0.0;
        for (value, w) in self.ascending() {
            below += w;
            if below >= wanted {
                return value;
            }
        }
        self.max
    }

    fn rank(&self, x: f64) -> f64 {
        let total = self.weight();
        if total == 0.0 || x.is_nan() {
            return f64::NAN;
        }
        if x >= self.max || x < self.min {
            return if x >= self.max { 1.0 } else { 0.0 };
        }
        let up_to = |bins: &Bins, index: i64| -> f64 {
            let places = (index - bins.first + 1).clamp(0, bins.weights.len() as i64);
            bins.weights[..places as usize].iter().sum()
        };
        let below = if x < 0.0 {
            // A negative number is at most x if its size is at least that of x.
            self.negative.weight() - up_to(&self.negative, self.index(-x) - 1)
        } else {
            let positive = if x == 0.0 { 0.0 } else { up_to(&self.positive, self.index(x)) };
            self.negative.weight() + self.zeros + positive
        };
        below / total
    }
}

impl Summary for DdSketch {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Numbers;

    fn is_valid(&self, built: &Self) -> bool {
        (self.relative_accuracy, self.max_bins, self.log_gamma)
            == (built.relative_accuracy, built.max_bins, built.log_gamma)
            && self.positive.is_valid(self.max_bins)
            && self.negative.is_valid(self.max_bins)
            && (0.0..f64::INFINITY).contains(&self.zeros)
            && (self.min <= self.max) == (self.weight() > 0.0)
            && !self.min.is_nan()
            && !self.max.is_nan()
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * (self.positive.weights.capacity() + self.negative.weights.capacity())
    }

    fn add_number(&mut self, x: f64, w: f64) {
        let x = x + 0.0;
        if x == 0.0 {
            self.zeros += w;
        } else {
            let index = self.index(x.abs());
            let bins = if x > 0.0 { &mut self.positive } else { &mut self.negative };
            bins.add(index, w, self.max_bins);
        }
        (self.min, self.max) = (self.min.min(x), self.max.max(x));
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        self.positive.merge(&other.positive, self.max_bins);
        self.negative.merge(&other.negative, self.max_bins);
        self.zeros += other.zeros;
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Quantile(q) => Ok(self.quantile(q)),
            Question::Rank(x) => Ok(self.rank(x)),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        let collapsed = self.positive.collapsed || self.negative.collapsed;
        let of = match collapsed {
            true => "relative value, beyond the collapsed bins",
            false => "relative value",
        };
        ErrorBound::new(of, self.relative_accuracy, 1.0)
    }

    fn bins(&self) -> Vec<(f64, f64)> {
        self.ascending().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_by_hand() {
        // α = 1/3: γ = (4/3) / (2/3) = 2. The bins of 3, 5 and -3 are 2, 3 and 2; their middles 2 · 4 / 3 and 2 · 8 / 3.
        let mut sketch = DdSketch::new(1.0 / 3.0, 10);
        for x in [3.0, 5.0, 0.0, -3.0] {
            sketch.add_number(x, 1.0);
        }
        assert_eq!((sketch.positive.first, &sketch.positive.weights[..]), (2, &[1.0, 1.0][..]));
        let quantiles = [0.25, 0.5, 0.75].map(|q| sketch.quantile(q));
        for (quantile, wanted) in quantiles.into_iter().zip([-8.0 / 3.0, 0.0, 8.0 / 3.0]) {
            assert!((quantile - wanted).abs() < 1e-12, "{quantiles:?}");
        }
        assert_eq!([0.0, 1.0].map(|q| sketch.quantile(q)), [-3.0, 5.0]);
        assert_eq!([-4.0, -3.0, -1.0, 0.0, 3.5, 5.0].map(|x| sketch.rank(x)), [0.0, 0.25, 0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn the_smallest_bins_collapse_in_any_order() {
        let xs: Vec<f64> = (-40..40).map(|power| exp(f64::from(power))).collect();
        let add = |order: &mut dyn Iterator<Item = &f64>| {
            let mut sketch = DdSketch::new(0.01, 1000);
            order.for_each(|&x| sketch.add_number(x, 1.0));
            sketch
        };
        let (up, down) = (add(&mut xs.iter()), add(&mut xs.iter().rev()));
        assert_eq!(up, down);
        assert!(up.positive.collapsed && up.positive.weights.len() <= 1000 && up.weight() == 80.0);
        // 1000 bins reach down to e^(39 - 1000 · 0.02) = e^19.
        let quantile = up.quantile(0.9);
        assert!((quantile / exp(31.0) - 1.0).abs() < 0.01, "{quantile}");
        let mut merged = add(&mut xs[..30].iter());
        merged.merge(&add(&mut xs[30..].iter())).expect("nothing to refuse");
        assert_eq!(merged, up);
    }

    #[test]
    fn extreme_numbers_have_bins() {
        let mut sketch = DdSketch::new(1e-6, 100);
        for x in [f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::MIN] {
            sketch.add_number(x, 1.0);
        }
        assert!([0.2, 0.4, 0.6, 0.9].iter().all(|&q| sketch.quantile(q).is_finite()));
    }
}
