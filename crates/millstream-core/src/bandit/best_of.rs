//! The probability that each of several beliefs is the largest, if one number is drawn from each: ∫ f_a Π F_b over b ≠ a.
//!
//! The scale of the beliefs is cut into cells where the largest number can be: at each belief's centre and at some multiples
//! of its width, so that cells are narrow where a density is steep. Within a cell, densities are polynomials through four
//! Gauss-Legendre points, which gives F at these points and the integral. Equal beliefs are computed once.

use std::sync::OnceLock;

use super::posterior::{Belief, POINTS, WEIGHTS};
use crate::policy::LateProbability;

/// Where a belief cuts the scale on either side of its centre, in widths; the far cuts are for exponential tails.
const CUTS: [f64; 10] = [1.0, 2.0, 3.2, 4.6, 6.2, 8.5, 12.0, 17.0, 25.0, 37.0];
/// More cuts than this are thinned out.
const MOST_CELLS: usize = 96;
/// A probability is not smaller: the largest draw may come from any belief.
const LEAST: f64 = 1e-15;

/// The integrals of the four Lagrange polynomials from 0 to `x`.
fn integrals(x: f64) -> [f64; 4] {
    std::array::from_fn(|index| {
        let others: Vec<f64> = (0..4).filter(|&other| other != index).map(|other| POINTS[other]).collect();
        let scale: f64 = others.iter().map(|other| POINTS[index] - other).product();
        let (a, b, c) = (others[0], others[1], others[2]);
        // (x − a)(x − b)(x − c) = x³ − (a + b + c) x² + (ab + bc + ca) x − abc
        let terms = [
            x.powi(4) / 4.0,
            -(a + b + c) * x.powi(3) / 3.0,
            (a * b + b * c + c * a) * x * x / 2.0,
            -a * b * c * x,
        ];
        terms.iter().sum::<f64>() / scale
    })
}

/// Write the probabilities of some beliefs.
pub fn probabilities(beliefs: impl Iterator<Item = Belief>, out: &mut Vec<f64>) {
    let (mut distinct, mut counts, mut which): (Vec<Belief>, Vec<f64>, Vec<usize>) = Default::default();
    for belief in beliefs {
        let place = distinct.iter().position(|other| *other == belief).unwrap_or_else(|| {
            distinct.push(belief);
            counts.push(0.0);
            distinct.len() - 1
        });
        counts[place] += 1.0;
        which.push(place);
    }
    out.clear();
    if distinct.len() == 1 {
        out.resize(which.len(), 1.0 / which.len() as f64);
        return;
    }
    let shares = shares(&distinct, &counts);
    out.extend(which.iter().map(|&place| shares[place].max(LEAST)));
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|probability| *probability /= total);
}

/// Some beliefs at the time of a decision, and the one whose draw was the largest.
#[derive(Debug)]
pub struct Contest {
    beliefs: Box<[Belief]>,
    winner: usize,
    found: OnceLock<f64>,
}

impl Contest {
    pub fn new(beliefs: Box<[Belief]>, winner: usize) -> Self {
        Contest { beliefs, winner, found: OnceLock::new() }
    }
}

impl LateProbability for Contest {
    fn value(&self) -> f64 {
        *self.found.get_or_init(|| {
            let mut all = Vec::new();
            probabilities(self.beliefs.iter().copied(), &mut all);
            all[self.winner]
        })
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + std::mem::size_of_val(&*self.beliefs)
    }
}

/// The probability of one of each group of equal beliefs.
fn shares(beliefs: &[Belief], counts: &[f64]) -> Vec<f64> {
    // The largest number is not below the reach of any belief.
    let low = beliefs.iter().map(|belief| belief.reach().0).fold(f64::NEG_INFINITY, f64::max);
    let high = beliefs.iter().map(|belief| belief.reach().1).fold(f64::NEG_INFINITY, f64::max);
    let reaching: Vec<usize> = (0..beliefs.len()).filter(|&index| beliefs[index].reach().1 > low).collect();
    let mut cuts = vec![low, high];
    for &index in &reaching {
        let (centre, width) = beliefs[index].centre();
        let (from, to) = beliefs[index].reach();
        let sides = CUTS.iter().flat_map(|cut| [centre - cut * width, centre + cut * width]);
        let own = sides.chain([centre, from, to]).filter(|&cut| cut >= from && cut <= to);
        cuts.extend(own.filter(|&cut| cut > low && cut < high));
    }
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.dedup();
    if cuts.len() > MOST_CELLS + 1 {
        let last = cuts.len() - 1;
        cuts = (0..=MOST_CELLS).map(|cell| cuts[cell * last / MOST_CELLS]).collect();
    }
    let partial = POINTS.map(integrals);
    let mut found = vec![0.0; beliefs.len()];
    let mut racers: Vec<Racer> = reaching.iter().map(|&index| Racer::new(beliefs[index], index, low)).collect();
    for cell in cuts.windows(2) {
        let (from, length) = (cell[0], cell[1] - cell[0]);
        let points = POINTS.map(|point| from + length * point);
        let transformed = points.map(|y| beliefs[0].transformed(y));
        let mut products = [1.0; 4];
        for racer in &mut racers {
            racer.enter(&points, &transformed, &partial, length);
            for (product, side) in products.iter_mut().zip(racer.sides) {
                *product *= match counts[racer.index] {
                    1.0 => side,
                    count => side.powf(count),
                };
            }
        }
        for racer in &racers {
            for point in 0..4 {
                let density = length * WEIGHTS[point] * racer.densities[point];
                found[racer.index] += density * products[point] / racer.sides[point];
            }
        }
    }
    found
}

/// A belief on its way up the scale.
struct Racer {
    belief: Belief,
    index: usize,
    ln_front: f64,
    /// The probability below the cell.
    below: f64,
    /// At the points of the cell: the density, and the probability below.
    densities: [f64; 4],
    sides: [f64; 4],
}

impl Racer {
    fn new(belief: Belief, index: usize, low: f64) -> Self {
        let below = 1.0 - belief.above(low);
        Racer { belief, index, ln_front: belief.ln_front(), below, densities: [0.0; 4], sides: [0.0; 4] }
    }

    fn enter(&mut self, points: &[f64; 4], transformed: &[f64; 4], partial: &[[f64; 4]; 4], length: f64) {
        let mut whole = 0.0;
        for point in 0..4 {
            self.densities[point] = self.belief.density_at(points[point], transformed[point], self.ln_front);
            whole += WEIGHTS[point] * self.densities[point];
        }
        for (side, partial) in self.sides.iter_mut().zip(partial) {
            let part: f64 = partial.iter().zip(&self.densities).map(|(a, b)| a * b).sum();
            *side = (self.below + length * part).clamp(1e-300, 1.0);
        }
        self.below = (self.below + length * whole).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::means::Means;
    use super::super::posterior::{Family, Prior};
    use super::*;

    /// The beliefs of a prior after so many rewards of 1 and of 0 of each action.
    fn found(family: Family, rewards: &[(u32, u32)]) -> Vec<f64> {
        let mut means = Means::default();
        for (action, &(ones, zeros)) in rewards.iter().enumerate() {
            (0..ones).for_each(|_| means.add(action as u32, 1.0));
            (0..zeros).for_each(|_| means.add(action as u32, 0.0));
        }
        let prior = Prior { family, mean: 0.5, weight: 2.0, noise: 1.0 };
        let mut out = Vec::new();
        probabilities((0..rewards.len() as u32).map(|action| prior.belief(&means, action)), &mut out);
        out
    }

    #[test]
    fn known_probabilities() {
        // Beta(2, 1) against Beta(1, 1): P(X > Y) = E X = 2/3.
        let two = found(Family::Beta, &[(1, 0), (0, 0)]);
        assert!((two[0] - 2.0 / 3.0).abs() < 1e-6, "{two:?}");
        // Beta(2, 1) against two uniform ones: E X² = 1/2.
        let three = found(Family::Beta, &[(1, 0), (0, 0), (0, 0)]);
        assert!((three[0] - 0.5).abs() < 1e-6 && (three[1] - 0.25).abs() < 1e-6, "{three:?}");
        // Normal with means 3/4 and 1/4 and variances 1/4: P = Φ(0.5/√0.5) = Φ(0.70711) = 0.76025.
        let normal = found(Family::Gaussian, &[(2, 0), (0, 2)]);
        assert!((normal[0] - 0.760_25).abs() < 1e-5, "{normal:?}");
        // Gamma(1, 2) against Gamma(2, 3), rates 2 and 3: P(X > Y) = (3/5)² = 0.36.
        let gamma = found(Family::Gamma, &[(0, 0), (1, 0)]);
        assert!((gamma[0] - 0.36).abs() < 1e-6, "{gamma:?}");
        assert_eq!(found(Family::Beta, &[(3, 4); 500]), vec![0.002; 500]);
    }

    #[test]
    fn sharp_and_wide_beliefs_together() {
        // A belief about 0.5 of width 0.001 against a uniform one: E of it is 0.5. Against a belief far below, certain.
        let found = found(Family::Beta, &[(125_000, 125_000), (0, 0), (10, 10_000)]);
        assert!((found[0] - 0.5).abs() < 1e-4, "{found:?}");
        assert!(found[2] > 0.0 && found[2] < 1e-12);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
