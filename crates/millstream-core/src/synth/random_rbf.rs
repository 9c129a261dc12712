//! RandomRBF: classes made of Gaussian balls around random centroids, which may move.
//!
//! The generator of MOA, described by Bifet, Holmes, Pfahringer, Kirkby and Gavaldà (2009, "New ensemble methods
//! for evolving data streams", KDD, section 4): a fixed number of centroids, each with a random centre in the unit
//! cube, a class, a weight and a deviation, the last two uniform in [0, 1]. An example chooses a centroid by weight and
//! moves from its centre in a random direction (uniform in [-1, 1] in each coordinate, then of length 1), by a
//! distance that is Gaussian with the centroid's deviation. Each centroid is therefore a ball that is densest in its
//! middle, and all features are numbers.
//!
//! To drift, centroids move by `change_speed` after each example, each in its own direction, and are reflected at
//! the faces of the cube.

use super::{seed, seed_model, StreamSchema, MODEL, N_CLASSES, N_FEATURES, SAMPLE, SEED, SEED_MODEL};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Fault;
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::{Choice, Random};
use crate::parameter::{Bounds, Default, Kind, Parameter};

/// The most coordinates of all centroids: 800 MB.
const MOST: usize = 100_000_000;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.RandomRBF",
    role: Role::Generator,
    words: "Classes of Gaussian balls around random centroids, which may move",
    merge: Merge::GENERATOR,
    parameters: &[
        SEED,
        SEED_MODEL,
        N_CLASSES,
        N_FEATURES,
        Parameter::new(
            "n_centroids",
            Kind::Integer { low: 1, high: 10_000 },
            Default::Integer(50),
            "number of centroids",
        ),
        Parameter::new(
            "change_speed",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.0),
            "distance that a moving centroid travels per example; 0 for no drift",
        ),
        Parameter::new(
            "n_drift_centroids",
            Kind::Optional(&Kind::Integer { low: 0, high: 10_000 }),
            Default::Null,
            "number of moving centroids; null for all",
        ),
    ],
    build: |arguments| {
        let (width, classes) = (arguments.size("n_features")?, arguments.size("n_classes")?);
        let n = arguments.size("n_centroids")?;
        if n * width > MOST {
            let got = format!("{n} of {width}");
            return Err(Fault::value(format!(
                "{}: centroids must be at most {MOST} numbers, got {got}",
                arguments.who
            )));
        }
        let speed = arguments.float("change_speed")?;
        let moving = match arguments.value("n_drift_centroids")?.is_null() {
            true => n,
            false => arguments.size("n_drift_centroids")?.min(n),
        };
        let mut random = Random::new(seed_model(arguments)?, MODEL);
        let mut weights = Vec::with_capacity(n);
        let mut centroids = Vec::with_capacity(n);
        for _ in 0..n {
            centroids.push(Centroid {
                centre: (0..width).map(|_| random.unit()).collect(),
                class: f64::from(random.below(classes as u32)),
                deviation: random.unit(),
                motion: Vec::new(),
            });
            // Not 0, so that there is a centroid to pick.
            weights.push(1.0 - random.unit());
        }
        let moving = if speed > 0.0 { moving } else { 0 };
        for centroid in &mut centroids[..moving] {
            centroid.motion = motion(width, speed, &mut random);
        }
        Ok(Built::Generator(Box::new(RandomRbf {
            schema: StreamSchema::numbers(width, classes),
            centroids,
            moving,
            choice: Choice::new(&weights),
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct RandomRbf {
    schema: StreamSchema,
    centroids: Vec<Centroid>,
    /// How many of them move, from the first.
    moving: usize,
    choice: Choice,
    random: Random,
}

struct Centroid {
    centre: Vec<f64>,
    class: f64,
    deviation: f64,
    /// By how much it goes on after each example; empty if it stays.
    motion: Vec<f64>,
}

/// A random direction of length `speed`; a coordinate grows or falls with equal chance.
fn motion(width: usize, speed: f64, random: &mut Random) -> Vec<f64> {
    let mut direction: Vec<f64> = (0..width).map(|_| random.between(-1.0, 1.0)).collect();
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > 0.0 {
        direction.iter_mut().for_each(|v| *v *= speed / length);
    }
    direction
}

impl Centroid {
    fn go_on(&mut self) {
        for (place, step) in self.centre.iter_mut().zip(&mut self.motion) {
            *place += *step;
            if !(0.0..=1.0).contains(place) {
                *place = place.clamp(0.0, 1.0);
                *step = -*step;
            }
        }
    }
}

impl Generator for RandomRbf {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    #[inline]
    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let centroid = &self.centroids[self.choice.draw(&mut self.random)];
        let mut square = 0.0;
        for value in &mut *x {
            *value = self.random.between(-1.0, 1.0);
            square += *value * *value;
        }
        let distance = self.random.gaussian() * centroid.deviation;
        let scale = if square > 0.0 { distance / square.sqrt() } else { 0.0 };
        for (value, centre) in x.iter_mut().zip(&centroid.centre) {
            *value = centre + *value * scale;
        }
        let class = centroid.class;
        self.centroids[..self.moving].iter_mut().for_each(Centroid::go_on);
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::tests::{built, mean_targets};

    #[test]
    fn a_centroid_turns_round_at_the_faces() {
        let mut centroid =
            Centroid { centre: vec![0.9, 0.5], class: 0.0, deviation: 0.0, motion: vec![0.0625, -0.03125] };
        // 0.9 + 0.0625 = 0.9625, then 1.025, which is held at 1 and turned, then 1 - 0.0625.
        for (first, second) in [(0.9625, 0.46875), (1.0, 0.4375), (0.9375, 0.40625)] {
            centroid.go_on();
            assert!((centroid.centre[0] - first).abs() < 1e-12);
            assert!((centroid.centre[1] - second).abs() < 1e-12);
        }
    }

    #[test]
    fn examples_lie_around_their_centroid_at_a_gaussian_distance() {
        // One centroid: the mean is its centre, and the mean squared distance its squared deviation.
        let one = r#"{"name": "synth.RandomRBF", "parameters": {"n_centroids": 1, "n_features": 3}}"#;
        let mut random = Random::new(1, MODEL);
        let centre: Vec<f64> = (0..3).map(|_| random.unit()).collect();
        random.below(2);
        let deviation = random.unit();
        let (mut stream, mut x, mut squared, mut means) = (built(one), [0.0; 3], 0.0, [0.0; 3]);
        let n = 50_000;
        for _ in 0..n {
            stream.draw(&mut x);
            for place in 0..3 {
                means[place] += x[place] / f64::from(n);
                squared += (x[place] - centre[place]).powi(2) / f64::from(n);
            }
        }
        assert!((squared / (deviation * deviation) - 1.0).abs() < 0.03, "{squared} {deviation}");
        assert!(means.iter().zip(&centre).all(|(mean, centre)| (mean - centre).abs() < 0.01));
    }

    #[test]
    fn the_model_has_a_seed_of_its_own() {
        let with = |seed: i64, model: i64| {
            let text = format!(
                r#"{{"name": "synth.RandomRBF", "parameters": {{"seed": {seed}, "seed_model": {model}}}}}"#
            );
            mean_targets(&text, 20_000)
        };
        // The same model from other samples has the same share of classes, to sampling; another model has not.
        assert!((with(1, 5) - with(2, 5)).abs() < 0.02);
        assert!((with(1, 5) - with(1, 6)).abs() > 0.02);
    }
}
