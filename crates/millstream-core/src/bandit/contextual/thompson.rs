//! Linear Thompson sampling (Agrawal and Goyal, 2013, "Thompson sampling for contextual bandits with linear payoffs",
//! algorithm 1): the action that is best under weights drawn from N(θ, v² P).
//!
//! The probability of an action has no closed form. It is the fraction of so many draws in which the action is best, and
//! the action taken is drawn from these probabilities, so that the recorded probability is exact. An action that is taken
//! has therefore a probability of at least 1 / samples.

use crate::numeric::dot;
use crate::numeric::random::Random;

/// L with L Lᵀ = C, in place in the lower triangle of a symmetric, positive semidefinite n × n matrix. Columns that depend
/// on earlier ones become 0.
pub fn factor(c: &mut [f64], n: usize) {
    for column in 0..n {
        let own = &c[column * n..][..column];
        let pivot = c[column * n + column] - dot(own, own);
        let size = c[column * n + column].max(f64::MIN_POSITIVE);
        let root = if pivot > size * 1e-12 { pivot.sqrt() } else { 0.0 };
        for row in column + 1..n {
            let (before, after) = c.split_at_mut(row * n);
            let other = &before[column * n..][..column];
            let value = after[column] - dot(&after[..column], other);
            after[column] = if root > 0.0 { value / root } else { 0.0 };
        }
        c[column * n + column] = root;
    }
}

/// The fraction of `samples` draws from N(mean, scale² C) in which each action is best. Overwrites C with its factor.
pub fn fractions(
    mean: &[f64],
    covariance: &mut [f64],
    scale: f64,
    samples: u32,
    random: &mut Random,
    (noise, out): (&mut Vec<f64>, &mut Vec<f64>),
) {
    let n = mean.len();
    factor(covariance, n);
    out.clear();
    out.resize(n, 0.0);
    for _ in 0..samples {
        noise.clear();
        noise.extend((0..n).map(|_| random.gaussian() * scale));
        let (mut best, mut most) = (0, f64::NEG_INFINITY);
        for (index, mean) in mean.iter().enumerate() {
            let drawn = mean + dot(&covariance[index * n..][..=index], &noise[..=index]);
            if drawn > most {
                (best, most) = (index, drawn);
            }
        }
        out[best] += 1.0;
    }
    out.iter_mut().for_each(|p| *p /= f64::from(samples));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_by_hand() {
        // (2, 0; 1, 3) (2, 0; 1, 3)ᵀ = (4, 2; 2, 10), and a third row that equals the first.
        let mut c = [4.0, 2.0, 4.0, 2.0, 10.0, 2.0, 4.0, 2.0, 4.0];
        factor(&mut c, 3);
        assert_eq!([c[0], c[3], c[4], c[6], c[7], c[8]], [2.0, 1.0, 3.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn fractions_follow_the_normal_distribution() {
        // A difference of N(0.5, 2 · 0.25): Φ(0.5 / 0.7071) = 0.7602.
        let (mut noise, mut out) = (Vec::new(), Vec::new());
        let mut random = Random::new(1, 1);
        let mut c = [0.25, 0.0, 0.0, 0.25];
        fractions(&[0.5, 0.0], &mut c, 1.0, 40_000, &mut random, (&mut noise, &mut out));
        assert!((out[0] - 0.7602).abs() < 0.01, "{out:?}");
        assert!((out[0] + out[1] - 1.0).abs() < 1e-12);
    }
}
