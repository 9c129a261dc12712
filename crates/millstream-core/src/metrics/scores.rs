//! Weights of positives and negatives by score: a histogram of fixed bins over [0, 1].
//!
//! Classifiers crowd their probabilities near 0 and 1, so bins are narrow there: the octave [2^-(k+1), 2^-k)
//! of p, and of 1 − p above ½, is cut into equal parts, 256 in the octave next to ½, half as many in each
//! one further out, but never fewer than 32. What is closer to 0 or 1 than 2^-31 shares a bin, and ½, which
//! untrained models say, has its own.

use serde::{Deserialize, Serialize};

use super::sums::{Sum, LIMIT};

const OCTAVES: u32 = 30;
/// Bins below ½.
const HALF: usize = 1 + 256 + 128 + 64 + 32 * (OCTAVES as usize - 3);
pub const BINS: usize = 2 * HALF + 1;

/// The number of bits that name a bin within octave k (from 1).
const fn bits(octave: u32) -> u32 {
    match octave {
        1 => 8,
        2 => 7,
        3 => 6,
        _ => 5,
    }
}

/// The number of bins below octave k.
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scores {
    pub positive: Side,
    pub negative: Side,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    pub total: Sum,
    pub bins: Vec<f64>,
}

impl Side {
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

    pub fn merge(&mut self, other: &Side) {
        self.total.merge(other.total);
        if !other.bins.is_empty() {
            self.bins.resize(BINS, 0.0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(mine, theirs)| *mine += theirs);
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
