//! What a Bayesian policy believes of the mean reward of an action: a conjugate distribution.
//!
//! With a prior mean m₀ that weighs as much as w₀ rewards, and n rewards of sum s:
//!
//! | rewards | belief | parameters |
//! |---|---|---|
//! | in [0, 1] | Beta(a, b) | a = w₀ m₀ + s, b = w₀ (1 − m₀) + n − s |
//! | normal, of standard deviation σ | normal | mean (w₀ m₀ + s)/(w₀ + n), variance σ²/(w₀ + n) |
//! | counts (Poisson) | Gamma(a, b) | a = w₀ m₀ + s, b = w₀ + n |
//!
//! Each belief has a *scale* on which its density is log-concave with light tails: logit, identity, logarithm. Cumulative
//! probabilities and quantiles are computed there.

use std::f64::consts::PI;

use super::means::Means;
use crate::fault::{Fault, Result};
use crate::numeric::elementary::{exp, ln};
use crate::numeric::quantiles::ln_gamma;
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

/// Gauss-Legendre points on [0, 1], and their weights.
pub const POINTS: [f64; 4] =
    [0.069_431_844_202_973_71, 0.330_009_478_207_571_9, 0.669_990_521_792_428_1, 0.930_568_155_797_026_3];
pub const WEIGHTS: [f64; 4] =
    [0.173_927_422_568_726_93, 0.326_072_577_431_273_07, 0.326_072_577_431_273_07, 0.173_927_422_568_726_93];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    Beta,
    Gaussian,
    Gamma,
}

/// The prior of every action.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    pub family: Family,
    pub mean: f64,
    pub weight: f64,
    /// The standard deviation of a reward, if the family is Gaussian.
    pub noise: f64,
}

/// Cells of the quadrature, at most: a hundred times what an ordinary belief needs.
const MOST_CELLS: usize = 20_000;
/// Beyond this the logarithms ln(1 + e^y) and e^y of the scale are straight to the last digit.
const STRAIGHT: f64 = 40.0;
/// Of a width below this fraction of its centre only the side matters.
const LEAST_WIDTH: f64 = 1e-13;

/// The belief about one action: two parameters of its family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    family: Family,
    /// Shape a; for a Gaussian the mean.
    a: f64,
    /// Shape or rate b; for a Gaussian the standard deviation.
    b: f64,
}

pub const DISTRIBUTION: Parameter = Parameter::new(
    "distribution",
    Kind::Choice(&["beta", "gaussian", "gamma"]),
    Default::Text("beta"),
    "belief about a mean reward: beta for rewards in reward_range, gaussian for any, gamma for counts",
);
pub const PRIOR: Parameter = Parameter::new(
    "prior",
    Kind::Optional(&Kind::Float(Bounds::new(-1e100, true, 1e100, true))),
    Default::Null,
    "mean reward expected before any is known; None is 0.5 for beta, 0 for gaussian and 1 for gamma",
);
pub const PRIOR_WEIGHT: Parameter = Parameter::new(
    "prior_weight",
    Kind::Optional(&Kind::Float(Bounds::new(1e-3, true, 1e15, true))),
    Default::Null,
    "number of rewards that the prior is worth; None is 2 for beta, and 1 for the others",
);
pub const NOISE: Parameter = Parameter::new(
    "noise",
    Kind::Float(Bounds::new(1e-50, true, 1e50, true)),
    Default::Float(1.0),
    "standard deviation of a reward, used by gaussian",
);

impl Arguments<'_> {
    pub fn prior(&self) -> Result<Prior> {
        let (family, mean, weight) = match self.text("distribution")? {
            "gaussian" => (Family::Gaussian, 0.0, 1.0),
            "gamma" => (Family::Gamma, 1.0, 1.0),
            _ => (Family::Beta, 0.5, 2.0),
        };
        let mean = self.value("prior")?.as_f64().unwrap_or(mean);
        let wrong = |must: &str| Err(Fault::value(format!("{}: prior must be {must}, got {mean}", self.who)));
        match family {
            Family::Beta if !(1e-9..=1.0 - 1e-9).contains(&mean) => wrong("in (0, 1) for beta"),
            Family::Gamma if mean < 1e-9 => wrong("> 0 for gamma"),
            _ => {
                let weight = self.value("prior_weight")?.as_f64().unwrap_or(weight);
                Ok(Prior { family, mean, weight, noise: self.float("noise")? })
            }
        }
    }
}

impl Prior {
    #[inline]
    pub fn belief(&self, means: &Means, action: u32) -> Belief {
        let n = means.count(action);
        let s = n * means.mean(action).unwrap_or(0.0);
        // A saved state that was changed must not make a shape negative.
        let s = match self.family {
            Family::Beta => s.clamp(0.0, n),
            Family::Gaussian => s,
            Family::Gamma => s.max(0.0),
        };
        let (weight, known) = (self.weight, self.weight * self.mean);
        let (a, b) = match self.family {
            Family::Beta => (known + s, (weight - known) + (n - s)),
            Family::Gaussian => ((known + s) / (weight + n), self.noise / (weight + n).sqrt()),
            Family::Gamma => (known + s, weight + n),
        };
        Belief { family: self.family, a, b }
    }

    /// Refuse a reward that the family has not.
    pub fn check(&self, reward: f64) -> Result<()> {
        match self.family == Family::Gamma && reward < 0.0 {
            true => Err(Fault::value(format!("the reward must be >= 0 for gamma, got {reward}"))),
            false => Ok(()),
        }
    }
}

impl Belief {
    /// Draw a mean reward: comparable between actions, increasing with the mean.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> f64 {
        match self.family {
            Family::Gaussian => self.a + self.b * random.gaussian(),
            Family::Gamma => draw_gamma(self.a, random) / self.b,
            Family::Beta if self.a < 1.0 || self.b < 1.0 => {
                let (x, y) = (draw_ln_gamma(self.a, random), draw_ln_gamma(self.b, random));
                1.0 / (1.0 + exp((y - x).min(700.0)))
            }
            Family::Beta => {
                let (x, y) = (draw_gamma(self.a, random), draw_gamma(self.b, random));
                x / (x + y)
            }
        }
    }

    /// Where the density on the scale is highest, and its standard deviation about there.
    pub fn centre(&self) -> (f64, f64) {
        match self.family {
            Family::Gaussian => (self.a, self.b),
            Family::Gamma => (ln(self.a / self.b), 1.0 / self.a.sqrt()),
            Family::Beta => (ln(self.a / self.b), (1.0 / self.a + 1.0 / self.b).sqrt()),
        }
    }

    /// The range on the scale beyond which less than about 1e-16 lies on either side.
    pub fn reach(&self) -> (f64, f64) {
        let (centre, width) = self.centre();
        match self.family {
            Family::Gaussian => (centre - 8.5 * width, centre + 8.5 * width),
            // The tails are exponential: e^(a y) on the left, and e^(−b y) on the right of a beta.
            Family::Gamma => {
                // A small shape is wide only on the left: e^(−b y) ends it at b e^y = 60.
                let high = (centre + 8.5 * width + 4.0 * width.min(1.0)).min(ln((60.0 + 10.0 * self.a) / self.b));
                (centre - 8.5 * width - 37.0 / self.a, high)
            }
            Family::Beta => (centre - 8.5 * width - 37.0 / self.a, centre + 8.5 * width + 37.0 / self.b),
        }
    }

    /// The logarithm of what makes the density a probability.
    pub fn ln_front(&self) -> f64 {
        match self.family {
            Family::Gaussian => -ln(self.b) - 0.5 * ln(2.0 * PI),
            Family::Gamma => self.a * ln(self.b) - ln_gamma(self.a),
            Family::Beta => ln_gamma(self.a + self.b) - ln_gamma(self.a) - ln_gamma(self.b),
        }
    }

    /// What the density needs to know of a point on the scale; equal for all beliefs of a family.
    #[inline]
    pub fn transformed(&self, y: f64) -> f64 {
        match self.family {
            Family::Gaussian => y,
            Family::Gamma => exp(y.min(700.0)),
            Family::Beta => soft_plus(y),
        }
    }

    /// The density on the scale.
    #[inline]
    pub fn density(&self, y: f64, ln_front: f64) -> f64 {
        self.density_at(y, self.transformed(y), ln_front)
    }

    /// `density`, of a point whose `transformed` is known.
    #[inline]
    pub fn density_at(&self, y: f64, transformed: f64, ln_front: f64) -> f64 {
        let ln_density = match self.family {
            Family::Gaussian => -0.5 * ((y - self.a) / self.b).powi(2),
            Family::Gamma => self.a * y - self.b * transformed,
            // x^a (1 − x)^b with x = 1 / (1 + e^(−y))
            Family::Beta => self.a * y - (self.a + self.b) * transformed,
        };
        match ln_front + ln_density {
            tiny if tiny < -60.0 => 0.0,
            ln_density => exp(ln_density),
        }
    }

    /// The probability above y on the scale, by Gauss-Legendre quadrature over cells of half a width. Where the logarithm
    /// of the density is straight, a cell is half as long as the density takes to fall by the factor e.
    pub fn above(&self, y: f64) -> f64 {
        let (low, high) = self.reach();
        let (centre, width) = self.centre();
        if !(self.a.is_finite() && self.b.is_finite()) || width.is_nan() || width <= LEAST_WIDTH * centre.abs() {
            return f64::from(u8::from(y < centre));
        }
        let (front, step) = (self.ln_front(), 0.5 * width.min(1.0));
        let (left, right) = self.tails();
        let (mut from, mut sum) = (y.max(low), 0.0);
        for _ in 0..MOST_CELLS {
            if from >= high {
                break;
            }
            let length = match (left, right) {
                (Some((end, scale)), _) if from < end => (0.5 * scale).min(end - from).max(step),
                (_, Some((start, scale))) if from >= start => (0.5 * scale).max(step),
                _ => step,
            };
            let length = length.min(high - from);
            let density = |point: &f64| self.density(from + length * point, front);
            let part: f64 =
                length * POINTS.iter().zip(WEIGHTS).map(|(point, weight)| weight * density(point)).sum::<f64>();
            sum += part;
            // The density falls from the centre on, so the rest is smaller still.
            if from > centre && part <= 1e-14 * sum {
                break;
            }
            from += length;
        }
        sum.clamp(0.0, 1.0)
    }

    /// Where the left tail ends and the right one begins, and over which length each changes by the factor e.
    fn tails(&self) -> (Option<(f64, f64)>, Option<(f64, f64)>) {
        match self.family {
            Family::Gaussian => (None, None),
            Family::Gamma => (Some((-STRAIGHT - ln(self.b), 1.0 / self.a)), None),
            Family::Beta => (Some((-STRAIGHT, 1.0 / self.a)), Some((STRAIGHT, 1.0 / self.b))),
        }
    }

    /// The number on the scale with this probability above it, in (0, 1), by Newton's method within a bracket.
    pub fn quantile_above(&self, probability: f64) -> f64 {
        if self.family == Family::Gaussian {
            let below = (1.0 - probability).clamp(1e-10, 1.0 - 1e-10);
            return self.a + self.b * crate::numeric::quantiles::normal_below(below);
        }
        let (mut low, mut high) = self.reach();
        let front = self.ln_front();
        let (centre, width) = self.centre();
        let mut y = centre
            + width * crate::numeric::quantiles::normal_below((1.0 - probability).clamp(1e-10, 1.0 - 1e-10));
        for _ in 0..60 {
            let above = self.above(y);
            if above > probability {
                low = y;
            } else {
                high = y;
            }
            // On the logarithm of the probability, which is nearly straight in the tail.
            let slope = -self.density(y, front) / above.max(1e-300);
            let newton = y - (ln(above.max(1e-300)) - ln(probability)) / slope;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - y).abs() <= 1e-10 * width.min(1.0) {
                return next;
            }
            y = next;
        }
        y
    }
}

/// ln(1 + e^x)
#[inline]
fn soft_plus(x: f64) -> f64 {
    x.max(0.0) + crate::numeric::elementary::ln_1p(exp(-x.abs().min(700.0)))
}

/// From the gamma distribution with rate 1 (Marsaglia and Tsang, 2000, ACM Transactions on Mathematical Software 26(3)).
#[inline]
fn draw_gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        return exp(draw_ln_gamma(shape, random).max(-745.0));
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.gaussian();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = random.open_unit();
        let square = x * x;
        if u < 1.0 - 0.0331 * square * square || ln(u) < 0.5 * square + d * (1.0 - v + ln(v)) {
            return d * v;
        }
    }
}

/// The logarithm of a draw, which a small shape would round to 0.
fn draw_ln_gamma(shape: f64, random: &mut Random) -> f64 {
    match shape < 1.0 {
        true => ln(draw_gamma(shape + 1.0, random)) + ln(random.open_unit()) / shape,
        false => ln(draw_gamma(shape, random)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(family: Family, mean: f64, weight: f64) -> Prior {
        Prior { family, mean, weight, noise: 2.0 }
    }

    #[test]
    fn beliefs_by_hand() {
        // Rewards 1, 0 and 0.5: n = 3 and s = 1.5.
        let mut means = Means::default();
        [1.0, 0.0, 0.5].into_iter().for_each(|reward| means.add(0, reward));
        let shape = |prior: Prior| {
            let belief = prior.belief(&means, 0);
            (belief.a, belief.b)
        };
        assert_eq!(shape(prior(Family::Beta, 0.5, 2.0)), (2.5, 2.5));
        assert_eq!(shape(prior(Family::Gamma, 3.0, 0.5)), (3.0, 3.5));
        // Mean (1 + 1.5)/(1 + 3), standard deviation 2/√4.
        assert_eq!(shape(prior(Family::Gaussian, 1.0, 1.0)), (0.625, 1.0));
    }

    #[test]
    fn tails_are_known_ones() {
        // Beta(1, 1) is uniform, Beta(2, 1) has P(X > x) = 1 − x², and Gamma(1, 2) has e^(−2x).
        for x in [0.01_f64, 0.3, 0.5, 0.99, 0.999_99] {
            let y = (x / (1.0 - x)).ln();
            let belief = |a, b, family| Belief { family, a, b };
            assert!((belief(1.0, 1.0, Family::Beta).above(y) - (1.0 - x)).abs() < 1e-7);
            assert!((belief(2.0, 1.0, Family::Beta).above(y) - (1.0 - x * x)).abs() < 1e-7);
            assert!((belief(1.0, 2.0, Family::Gamma).above(x.ln()) - (-2.0 * x).exp()).abs() < 1e-7);
            let quantile = belief(2.0, 1.0, Family::Beta).quantile_above(1.0 - x * x);
            assert!((quantile - y).abs() < 1e-4, "{x} {quantile} {y}");
        }
    }

    #[test]
    fn tails_of_extreme_shapes() {
        let belief = |a, b, family| Belief { family, a, b };
        // For a small shape a, P(X > x) of a beta with b = 1 is 1 − x^a.
        for a in [1e-12_f64, 1e-6, 1e-3] {
            let y = -0.3 / a;
            let expected = 1.0 - (-0.3_f64).exp();
            assert!((belief(a, 1.0, Family::Beta).above(y) - expected).abs() < 1e-6, "{a}");
            // P(X > x) = 1 − x^a / Γ(1 + a), up to a.
            assert!((belief(a, 1.0, Family::Gamma).above(y) - expected).abs() < 2.0 * a + 1e-6, "{a}");
        }
        for (a, b) in [(1e300, 3.0), (7e18, 3e18), (f64::MAX, f64::MAX), (f64::INFINITY, 1.0), (1e-300, 2.0)] {
            for family in [Family::Beta, Family::Gamma, Family::Gaussian] {
                let found = belief(a, b, family).above(1.0);
                assert!((0.0..=1.0).contains(&found), "{a} {b} {family:?} {found}");
                belief(a, b, family).quantile_above(0.05);
            }
        }
    }

    #[test]
    fn draws_have_mean_and_variance() {
        let mut random = Random::new(5, 5);
        for (family, a, b, mean, variance) in [
            (Family::Beta, 2.0, 6.0, 0.25, 12.0 / (64.0 * 9.0)),
            (Family::Beta, 0.3, 0.2, 0.6, 0.06 / (0.25 * 1.5)),
            (Family::Gamma, 3.0, 2.0, 1.5, 0.75),
            (Family::Gamma, 0.4, 1.0, 0.4, 0.4),
            (Family::Gaussian, 1.0, 3.0, 1.0, 9.0),
        ] {
            let belief = Belief { family, a, b };
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| belief.draw(&mut random)).collect();
            let found = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|x| (x - found).powi(2)).sum::<f64>() / f64::from(n);
            assert!((found - mean).abs() < 4.0 * (variance / f64::from(n)).sqrt(), "{belief:?} {found}");
            assert!((spread / variance - 1.0).abs() < 0.08, "{belief:?} {spread}");
        }
    }
}
