//! STAGGER: three nominal features and three concepts (Schlimmer and Granger, 1986, "Incremental learning from noisy
//! data", Machine Learning 1(3), 317-354).
//!
//! The concepts, of which the paper gives 40 examples each, are: small and red; green or circular; medium or large.

use super::balance::Balance;
use super::{classification_function, seed, StreamSchema, BALANCE_CLASSES, SAMPLE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.STAGGER",
    role: Role::Generator,
    words: "Two classes of shapes by size, colour and shape, all nominal (Schlimmer and Granger, 1986)",
    merge: Merge::GENERATOR,
    parameters: &[
        classification_function(2, "index of the concept: small and red, green or circle, medium or large"),
        SEED,
        BALANCE_CLASSES,
    ],
    build: |arguments| {
        let features: [(&str, &[&str]); 3] = [
            ("size", &["small", "medium", "large"]),
            ("color", &["red", "blue", "green"]),
            ("shape", &["circle", "square", "triangle"]),
        ];
        Ok(Built::Generator(Box::new(Stagger {
            schema: StreamSchema::named(&features, 2),
            function: arguments.size("classification_function")?,
            balance: Balance::new(arguments.boolean("balance_classes")?),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct Stagger {
    schema: StreamSchema,
    function: usize,
    balance: Balance,
    random: Random,
}

impl Generator for Stagger {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        loop {
            // One of the 27 objects.
            let mut object = self.random.below(27);
            for value in &mut *x {
                *value = f64::from(object % 3);
                object /= 3;
            }
            let y = f64::from(is_positive(self.function, x));
            if self.balance.admits(y) {
                return y;
            }
        }
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        Some(f64::from(is_positive(self.function, x)))
    }
}

fn is_positive(function: usize, x: &[f64]) -> bool {
    let (small, red, green, circle) = (x[0] == 0.0, x[1] == 0.0, x[1] == 2.0, x[2] == 0.0);
    match function {
        0 => small && red,
        1 => green || circle,
        _ => !small,
    }
}

#[cfg(test)]
mod tests {
    use super::is_positive;
    use crate::synth::tests::mean_targets;

    #[test]
    fn the_concepts_hold_in_3_15_and_18_of_27_cases() {
        // Small and red: 3 shapes. Green: 9, or a circle that is not green: 6. Medium or large: 18.
        let cases = |function| {
            let all = (0..27).map(|n| [n % 3, n / 3 % 3, n / 9].map(f64::from));
            all.filter(|x| is_positive(function, x)).count()
        };
        assert_eq!([0, 1, 2].map(cases), [3, 15, 18]);
    }

    #[test]
    fn balanced_classes_take_turns() {
        let balanced = r#"{"name": "synth.STAGGER", "parameters": {"balance_classes": true}}"#;
        assert_eq!(mean_targets(balanced, 1000), 0.5);
    }
}
