//! Mixed: two of three conditions (Gama, Medas, Castillo and Rodrigues, 2004, "Learning with drift detection", SBIA,
//! section 4.1, data set MIXED).
//!
//! Features v and w are true or false, here 1 or 0; x and y are uniform in [0, 1]. An example is positive if at least
//! two of v, w and y < 1/2 + 3/10 sin(3πx) hold; after the change the classes are reversed.

use super::balance::Balance;
use super::sine::is_below_wave;
use super::{classification_function, seed, StreamSchema, BALANCE_CLASSES, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.Mixed",
    role: Role::Generator,
    words: "Two of three conditions on two flags and a curve (Gama and others, 2004)",
    merge: Merge::GENERATOR,
    parameters: &[
        classification_function(1, "0 where two of the conditions make class 1, 1 for the reverse"),
        SEED,
        BALANCE_CLASSES,
    ],
    build: |arguments| {
        Ok(Built::Generator(Box::new(Mixed {
            schema: StreamSchema::numbers(4, 2),
            reversed: arguments.size("classification_function")? == 1,
            balance: Balance::new(arguments.boolean("balance_classes")?),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Mixed {
    schema: StreamSchema,
    reversed: bool,
    balance: Balance,
    random: Random,
}

fn two_hold(x: &[f64]) -> bool {
    let conditions = [x[0] == 1.0, x[1] == 1.0, is_below_wave(x[2], x[3])];
    conditions.into_iter().filter(|&holds| holds).count() >= 2
}

impl Generator for Mixed {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        loop {
            x[0] = f64::from(self.random.below(2));
            x[1] = f64::from(self.random.below(2));
            x[2] = self.random.unit();
            x[3] = self.random.unit();
            let y = f64::from(two_hold(x) != self.reversed);
            if self.balance.admits(y) {
                return y;
            }
        }
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(f64::from(two_hold(x) != self.reversed))
    }
}

#[cfg(test)]
mod tests {
    use super::two_hold;

    #[test]
    fn conditions_by_hand() {
        // At x = 1/6 the curve is at 0.5 + 0.3 = 0.8; at x = 1/2 at 0.2.
        let (below, above) = ([1.0 / 6.0, 0.7], [0.5, 0.7]);
        let case = |v, w, [x, y]: [f64; 2]| two_hold(&[v, w, x, y]);
        assert!(case(1.0, 1.0, above) && case(1.0, 0.0, below) && case(0.0, 1.0, below));
        assert!(!case(1.0, 0.0, above) && !case(0.0, 0.0, below));
    }
}
