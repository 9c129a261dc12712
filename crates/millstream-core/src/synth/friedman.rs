//! Friedman: a number from five of ten features (Friedman, 1991, "Multivariate adaptive regression splines", Annals
//! of Statistics 19(1), equation 61), with three kinds of drift (Ikonomovska, Gama and Džeroski, 2011, "Learning
//! model trees from evolving data streams", Data Mining and Knowledge Discovery 23(1), section 6.1).
//!
//! y = 10 sin(π x₁ x₂) + 20 (x₃ - 1/2)² + 10 x₄ + 5 x₅ + ε, features uniform in [0, 1], ε Gaussian of variance 1.
//!
//! * lea, local expanding abrupt: in two regions, which grow at each of three positions, the function differs.
//! * gra, global recurring abrupt: at the first position the features are permuted, at the second they return.
//! * gsg, global slow gradual: from each of two positions on, the probability of the next function grows linearly to 1
//!   within `transition_window` examples.

use std::f64::consts::PI;

use super::{seed, StreamSchema, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::elementary::{cos, exp, sin};
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Friedman",
    role: Role::Generator,
    words: "A number from five of ten features (Friedman, 1991), with drift (Ikonomovska and others, 2011)",
    merge: Merge::GENERATOR,
    parameters: &[
        SEED,
        Parameter::new(
            "drift_type",
            Kind::Optional(&Kind::Choice(&["lea", "gra", "gsg"])),
            Default::Null,
            "kind of drift: local expanding abrupt, global recurring abrupt, global slow gradual; null for none",
        ),
        Parameter::new(
            "position",
            Kind::Integers { low: 0, high: i64::MAX },
            Default::Integers(&[50_000, 100_000, 150_000]),
            "number of examples before each change, ascending; three for lea, the first two for the others",
        ),
        Parameter::new(
            "transition_window",
            Kind::Integer { low: 0, high: i64::MAX },
            Default::Integer(10_000),
            "number of examples of a transition, for gsg",
        ),
    ],
    build: |arguments| {
        let drift = match arguments.value("drift_type")?.as_str() {
            None => Drift::None,
            Some("lea") => Drift::LocalExpanding(positions(arguments)?),
            Some("gra") => Drift::GlobalRecurring(positions(arguments)?),
            Some(_) => Drift::GlobalGradual(positions(arguments)?, arguments.integer("transition_window")? as u64),
        };
        Ok(Built::Generator(Box::new(Friedman {
            schema: StreamSchema::numbers(10, 0),
            drift,
            drawn: 0,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

/// As many positions as the kind of drift has, rising; a third one may be there and mean nothing.
fn positions<const N: usize>(arguments: &Arguments<'_>) -> Result<[u64; N]> {
    let given = arguments.integers("position")?;
    let rising = given.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || given.len() < N || given.len() > 3 {
        return Err(Fault::value(format!(
            "{}: position must be {N} ascending numbers for this drift_type, got {given:?}",
            arguments.who
        )));
    }
    Ok(std::array::from_fn(|place| given[place] as u64))
}

enum Drift {
    None,
    LocalExpanding([u64; 3]),
    GlobalRecurring([u64; 2]),
    GlobalGradual([u64; 2], u64),
}

struct Friedman {
    schema: StreamSchema,
    drift: Drift,
    drawn: u64,
    random: Random,
}

/// Friedman's function of five features.
fn friedman(a: f64, b: f64, c: f64, d: f64, e: f64) -> f64 {
    10.0 * sin(PI * a * b) + 20.0 * (c - 0.5) * (c - 0.5) + 10.0 * d + 5.0 * e
}

/// The functions between which the global kinds change.
fn global(function: usize, x: &[f64]) -> f64 {
    match function {
        0 => friedman(x[0], x[1], x[2], x[3], x[4]),
        1 => friedman(x[3], x[4], x[1], x[0], x[2]),
        _ => friedman(x[1], x[4], x[3], x[2], x[0]),
    }
}

/// After so many changes of the local kind.
fn local(changes: usize, x: &[f64]) -> f64 {
    let low = |place: usize| x[place] < 0.3;
    let high = |place: usize| x[place] > 0.7;
    // The regions are bound by four features, then three, then two.
    if changes > 0 && low(1) && low(2) && (changes > 2 || high(3)) && (changes > 1 || low(4)) {
        return 10.0 * x[0] * x[1] + 20.0 * (x[2] - 0.5) + 10.0 * x[3] + 5.0 * x[4];
    }
    if changes > 0 && high(1) && high(2) && (changes > 2 || low(3)) && (changes > 1 || high(4)) {
        return 10.0 * cos(x[0] * x[1]) + 20.0 * (x[2] - 0.5) + exp(x[3]) + 5.0 * x[4] * x[4];
    }
    global(0, x)
}

impl Drift {
    fn target(&self, drawn: u64, x: &[f64], random: &mut Random) -> f64 {
        let passed = |positions: &[u64]| positions.iter().filter(|&&position| drawn >= position).count();
        match self {
            Drift::None => global(0, x),
            Drift::LocalExpanding(positions) => local(passed(positions), x),
            Drift::GlobalRecurring(positions) => global(passed(positions) % 2, x),
            Drift::GlobalGradual(positions, window) => {
                let changes = passed(positions);
                let since = if changes > 0 { drawn - positions[changes - 1] } else { 0 };
                // One number is drawn for each example, so that features do not depend on the kind of drift.
                let early = random.unit() * *window as f64 >= since as f64 + 1.0;
                global(changes - usize::from(changes > 0 && since < *window && early), x)
            }
        }
    }
}

impl Generator for Friedman {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        for value in &mut *x {
            *value = self.random.unit();
        }
        let target = self.drift.target(self.drawn, x, &mut self.random);
        self.drawn += 1;
        target + self.random.gaussian()
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(global(0, x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_hand() {
        // x = (1/2, 1, 1/4, 0.8, 0.2): 10 sin(π/2) + 20/16 + 8 + 1 = 20.25.
        let x = [0.5, 1.0, 0.25, 0.8, 0.2];
        assert!((global(0, &x) - 20.25).abs() < 1e-12);
        // 10 sin(0.16π) + 20/4 + 5 + 1.25 = 4.817536741 + 11.25.
        assert!((global(1, &x) - 16.067_536_741).abs() < 1e-8);
        // 10 sin(0.2π) + 20 · 0.09 + 2.5 + 2.5 = 5.877852523 + 6.8.
        assert!((global(2, &x) - 12.677_852_523).abs() < 1e-8);
    }

    #[test]
    fn regions_grow_with_each_change() {
        let differs = |x: [f64; 5]| [0, 1, 2, 3].map(|changes| local(changes, &x) != global(0, &x));
        assert_eq!(differs([0.5, 0.2, 0.2, 0.8, 0.2]), [false, true, true, true]);
        assert_eq!(differs([0.5, 0.2, 0.2, 0.8, 0.5]), [false, false, true, true]);
        assert_eq!(differs([0.5, 0.2, 0.2, 0.5, 0.5]), [false, false, false, true]);
        assert_eq!(differs([0.5, 0.8, 0.8, 0.2, 0.8]), [false, true, true, true]);
        assert_eq!(differs([0.5, 0.8, 0.2, 0.2, 0.8]), [false; 4]);
        // 10 · 0.1 + 20 · (-0.3) + 8 + 1 = 4, and 10 cos(0.4) + 6 + e^0.2 + 3.2 = 9.21060994 + 10.42140276.
        assert!((local(1, &[0.5, 0.2, 0.2, 0.8, 0.2]) - 4.0).abs() < 1e-12);
        assert!((local(1, &[0.5, 0.8, 0.8, 0.2, 0.8]) - 19.632_012_698).abs() < 1e-8);
    }

    #[test]
    fn gradual_drift_takes_the_window() {
        let (drift, mut random) = (Drift::GlobalGradual([100, 1100], 1000), Random::new(3, 0));
        let x = [0.5, 1.0, 0.25, 0.8, 0.2];
        let mut news = |from: u64, to: u64| {
            (from..to).filter(|&drawn| drift.target(drawn, &x, &mut random) == global(1, &x)).count()
        };
        assert_eq!(news(0, 100), 0);
        // The chance grows from 0 to 1: 125 in the first half, 375 in the second, deviations about 9.
        assert!((80..170).contains(&news(100, 600)));
        assert!((330..420).contains(&news(600, 1100)));
        assert!(news(2100, 2200) == 0);
    }
}
