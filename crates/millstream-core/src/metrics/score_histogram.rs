//! Weights of positives and negatives by score: a histogram of fixed bins over [0, 1].
//!
//! Many predicted probabilities are close to 0 or 1, so bins are narrow there: the octave [2^-(k+1), 2^-k) of p,
//! and of 1 − p above ½, is cut into equal bins, 256 in the octave next to ½, half as many in each one further
//! out, but at least 32. Scores closer to 0 or 1 than 2^-31 share a bin. The score ½, which untrained models give,
//! has its own bin.

use serde::{Deserialize, Serialize};

use super::sums::{Sum, LIMIT};

const OCTAVES: u32 = 30;
/// Bins below ½.
const HALF: usize = 1 + 256 + 128 + 64 + 32 * (OCTAVES as usize - 3);
pub const BINS: usize = 2 * HALF + 1;

/// Number of bits of the bin index within octave k (from 1).
const fn bits(octave: u32) -> u32 {
    match octave {
        1 => 8,
        2 => 7,
        3 => 6,
        _ => 5,
    }
}

/// Number of bins below octave k.
const fn below(octave: u32) -> usize {
    match octave {
        1 => HALF - 256,
        2 => HALF - 256 - 128,
        3 => HALF - 256 - 128 - 64,
        _ => 1 + 32 * (OCTAVES - octave) as usize,
    }
}

/// The bin of a probability in [0, 1].
pub fn bin(p: f64) -> usize {
    let near = if p < 0.5 { p } else { 1.0 - p };
    if p == 0.5 {
        return HALF;
    }
    let pattern = near.to_bits();
    // For near in [2^-(k+1), 2^-k) the exponent field is 1022 − k.
    let octave = 1022u64.saturating_sub(pattern >> 52) as u32;
    let place = if octave > OCTAVES {
        0
    } else {
        let bits = bits(octave.max(1));
        let within = (pattern >> (52 - bits)) as usize & ((1 << bits) - 1);
        below(octave.max(1)) + within
    };
    if p < 0.5 {
        place
    } else {
        BINS - 1 - place
    }
}

/// Empty until the first outcome.
///
/// If either of two classes may become the positive one, the weights of both choices are needed. The probabilities
/// of the two classes nearly always add up to 1, and bins are symmetric, so the histogram of the other choice is
/// this one, mirrored. Differences from the mirror image are stored separately.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScoreHistogram {
    pub positive: Side,
    pub negative: Side,
    /// The positives as negatives of the other choice: difference from the mirrored bins, empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positive_shift: Vec<f64>,
    /// The negatives as positives of the other choice: difference from the mirrored bins, empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub negative_shift: Vec<f64>,
}

impl ScoreHistogram {
    /// Add an outcome with bin `bin`, or bin `other` if the other class is the positive one.
    #[inline]
    pub fn add(&mut self, is_positive: bool, bin: usize, other: usize, w: f64) {
        let (side, shift) = match is_positive {
            true => (&mut self.positive, &mut self.positive_shift),
            false => (&mut self.negative, &mut self.negative_shift),
        };
        side.add(bin, w);
        if other != BINS - 1 - bin {
            shift.resize(BINS, 0.0);
            shift[other] += w;
            shift[BINS - 1 - bin] -= w;
        }
        if side.total.count == 0 {
            shift.clear();
        }
    }

    /// The histogram with the other class as the positive one.
    pub fn swapped(&self) -> ScoreHistogram {
        let swapped = |side: &Side, shift: &[f64]| {
            let mut bins: Vec<f64> = side.bins.iter().rev().copied().collect();
            bins.iter_mut().zip(shift).for_each(|(weight, shift)| *weight += shift);
            Side { total: side.total, bins }
        };
        ScoreHistogram {
            positive: swapped(&self.negative, &self.negative_shift),
            negative: swapped(&self.positive, &self.positive_shift),
            ..ScoreHistogram::default()
        }
    }

    pub fn has_shifts(&self) -> bool {
        !(self.positive_shift.is_empty() && self.negative_shift.is_empty())
    }

    pub fn clear_shifts(&mut self) {
        (self.positive_shift, self.negative_shift) = Default::default();
    }

    pub fn scale(&mut self, factor: f64) {
        self.positive.scale(factor);
        self.negative.scale(factor);
        let shifts = self.positive_shift.iter_mut().chain(&mut self.negative_shift);
        shifts.for_each(|weight| *weight *= factor);
    }

    pub fn reset(&mut self) {
        self.positive.reset();
        self.negative.reset();
        self.positive_shift.clear();
        self.negative_shift.clear();
    }

    pub fn merge(&mut self, other: &ScoreHistogram, sign: f64) {
        self.positive.merge(&other.positive, sign);
        self.negative.merge(&other.negative, sign);
        merge(&mut self.positive_shift, &other.positive_shift, sign);
        merge(&mut self.negative_shift, &other.negative_shift, sign);
    }

    pub fn is_valid(&self) -> bool {
        let shifts = [&self.positive_shift, &self.negative_shift];
        let bounded = |shift: &[f64]| {
            let fits = shift.is_empty() || shift.len() == BINS;
            // Twice as much as a side: what is added at one bin is taken at another.
            fits && shift.iter().map(|w| w.abs()).sum::<f64>() <= 4.0 * LIMIT
        };
        self.positive.is_valid() && self.negative.is_valid() && shifts.iter().all(|shift| bounded(shift))
    }

    pub fn memory(&self) -> usize {
        let bins = self.positive.bins.capacity() + self.negative.bins.capacity();
        8 * (bins + self.positive_shift.capacity() + self.negative_shift.capacity())
    }
}

fn merge(mine: &mut Vec<f64>, theirs: &[f64], sign: f64) {
    if !theirs.is_empty() {
        mine.resize(BINS, 0.0);
    }
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += sign * theirs);
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    pub total: Sum,
    pub bins: Vec<f64>,
}

impl Side {
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    pub fn add(&mut self, bin: usize, w: f64) {
        self.bins.resize(BINS, 0.0);
        self.total.add(w);
        self.bins[bin] += w;
        if self.total.count == 0 {
            self.bins.fill(0.0);
        }
    }

    pub fn scale(&mut self, factor: f64) {
        self.total.value *= factor;
        self.bins.iter_mut().for_each(|weight| *weight *= factor);
    }

    pub fn reset(&mut self) {
        self.total = Sum::default();
        self.bins.clear();
    }

    pub fn merge(&mut self, other: &Side, sign: f64) {
        self.total.merge(other.total, sign);
        merge(&mut self.bins, &other.bins, sign);
        if self.total.count == 0 {
            self.bins.clear();
        }
    }

    pub fn is_valid(&self) -> bool {
        let length = self.bins.len();
        let fits = length == BINS || (length == 0 && self.total.count == 0);
        // Twice, because taking back leaves roundings; NaN is refused too.
        fits && self.total.is_valid() && self.bins.iter().map(|w| w.abs()).sum::<f64>() <= 2.0 * LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities 0.3 and 0.7 mirror each other; 0.3 and 0.9 do not, and are taken back without a trace.
    #[test]
    fn the_other_class_as_the_positive_one() {
        let mut scores = ScoreHistogram::default();
        scores.add(true, bin(0.3), bin(0.7), 1.0);
        assert!(!scores.has_shifts());
        scores.add(true, bin(0.3), bin(0.9), 2.0);
        scores.add(false, bin(0.2), bin(0.8), 4.0);
        assert!(scores.has_shifts() && scores.is_valid());
        let swapped = scores.swapped();
        assert_eq!((swapped.positive.total.value, swapped.negative.total.value), (4.0, 3.0));
        assert_eq!(swapped.positive.bins[bin(0.8)], 4.0);
        assert_eq!((swapped.negative.bins[bin(0.7)], swapped.negative.bins[bin(0.9)]), (1.0, 2.0));
        scores.add(true, bin(0.3), bin(0.9), -2.0);
        scores.add(true, bin(0.3), bin(0.7), -1.0);
        assert!(!scores.has_shifts());
    }

    #[test]
    fn bins_are_in_the_order_of_scores_and_all_reached() {
        let mut reached = vec![false; BINS];
        let mut last = 0;
        let mut scores: Vec<f64> = (0..=40_000).map(|i| 0.5f64.powf(f64::from(i) / 1000.0)).collect();
        scores.extend((0..=4096).map(|i| f64::from(i) / 4096.0));
        scores.extend(scores.clone().iter().map(|p| 1.0 - p));
        scores.push(0.0);
        scores.sort_by(f64::total_cmp);
        for p in scores {
            let bin = bin(p);
            assert!(bin >= last && bin < BINS, "{p}");
            reached[bin] = true;
            last = bin;
        }
        assert_eq!(reached.iter().filter(|there| !**there).count(), 0);
        assert_eq!(bin(0.5), HALF);
        assert_eq!(bin(1.0), BINS - 1);
    }
}
