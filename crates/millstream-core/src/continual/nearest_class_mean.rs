//! Nearest class mean (Rebuffi, Kolesnikov, Sperl and Lampert, 2017, eq. 2, on given features): a row has the class whose
//! mean is nearest. A mean depends on the rows of its class alone, so no class can be forgotten.
//!
//! Probabilities are those of Gaussian classes with one common variance σ² in every direction, the pooled variance within
//! the classes, and equal priors: P(k) ∝ exp(−|x − μₖ|² / 2σ²). A missing number counts as 0.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{learn_each, Learner};
use crate::linear_model::{named, softmax_regression::softmax};
use crate::merging::{Merge, Merger, Side};
use crate::part::{Abilities, Part};
use crate::row::{finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes};

use super::class_means::ClassMeans;

const NAME: &str = "continual.NearestClassMean";
const MOST_COORDINATES: usize = 1 << 20;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Predicts the class whose mean is nearest; forgets no class",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Classifier(Box::new(NearestClassMean { state: State::default(), vector: Vec::new() }))),
};

#[derive(Clone)]
struct NearestClassMean {
    state: State,
    vector: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    classes: ClassMeans,
    /// Σ w |x − μ|² within the classes.
    scatter: f64,
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// What |μ − μ'|² adds to the scatter when two parts of a class are joined.
fn between(count: f64, other: f64, squares: f64) -> f64 {
    match count + other > 0.0 {
        true => count * other / (count + other) * squares,
        false => 0.0,
    }
}

impl Part for NearestClassMean {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.classes.validate(NAME)?;
        require(NAME, state.classes.width() <= MOST_COORDINATES, "too many coordinates")?;
        require(NAME, state.scatter.is_finite() && state.scatter >= 0.0, "the scatter is not finite")?;
        self.state = state;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let State { classes, scatter } = &mut self.state;
        let mut join = |side: Side<'_>, sign: f64| -> Result<()> {
            let other: State = unpack(NAME, side.state)?;
            let mut sum = sign * other.scatter;
            classes.join(&other.classes, side, merger, sign, |(ours, mean), (theirs, their_mean)| {
                let rest = if sign > 0.0 { ours } else { ours - theirs };
                // The part that stays has the mean m with ours · mean = rest · m + theirs · their_mean.
                let squares = distance(mean, their_mean);
                sum += match (sign > 0.0, rest > 0.0) {
                    (true, _) => between(ours, theirs, squares),
                    (false, true) => -ours * theirs / rest * squares,
                    (false, false) => 0.0,
                };
            })?;
            *scatter = (*scatter + sum).max(0.0);
            Ok(())
        };
        join(merger.other, 1.0)?;
        if let Some(base) = merger.base {
            join(base, -1.0)?;
        }
        match self.state.scatter.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.classes.memory() + 8 * self.vector.capacity()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    /// `{"counts": […], "means": [{feature: number}, …], "variance": number}`, by class code.
    fn inspect(&self, schema: &Schema) -> Json {
        let ClassMeans { coordinates, counts, means } = &self.state.classes;
        let means: Vec<Json> = means
            .iter()
            .map(|mean| {
                Json::Object(named(schema, |slot, value| Some(mean[coordinates.of(slot, value)? as usize])))
            })
            .collect();
        json!({ "counts": counts, "means": means, "variance": self.variance() })
    }

    fn scalars(&self) -> Json {
        json!({ "counts": self.state.classes.counts, "variance": self.variance() })
    }
}

impl NearestClassMean {
    /// σ²
    fn variance(&self) -> f64 {
        let ClassMeans { counts, .. } = &self.state.classes;
        let numbers = counts.iter().sum::<f64>() * self.state.classes.width() as f64;
        if numbers > 0.0 {
            self.state.scatter / numbers
        } else {
            0.0
        }
    }

    fn take(&mut self, x: Row<'_>, y: usize, w: f64, scratch: &mut Scratch) -> Result<()> {
        let State { classes, scatter } = &mut self.state;
        let growth = classes.grow(NAME, MOST_COORDINATES, x, y)?;
        classes.vector(x, &mut self.vector, scratch);
        let count = classes.counts[y];
        let more = between(count, w, distance(&self.vector, &classes.means[y]));
        let (sum, fraction) = (count + w, w / (count + w));
        if !((*scatter + more).is_finite() && sum.is_finite()) {
            classes.shrink(growth);
            return Err(Fault::overflow(NAME));
        }
        let mean = &mut classes.means[y];
        if count == 0.0 {
            mean.copy_from_slice(&self.vector);
        } else {
            mean.iter_mut().zip(&self.vector).for_each(|(mean, x)| *mean += fraction * (x - *mean));
        }
        classes.counts[y] = sum;
        *scatter += more;
        Ok(())
    }
}

impl Learner<Classes> for NearestClassMean {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        out.clear();
        let classes = &self.state.classes;
        if classes.counts.iter().all(|&count| count == 0.0) {
            return;
        }
        let mut vector = scratch.take_numbers();
        classes.vector(x, &mut vector, scratch);
        out.probabilities.extend(classes.means.iter().zip(&classes.counts).map(|(mean, &count)| {
            match count > 0.0 {
                true => -finite(distance(&vector, mean)),
                false => f64::NEG_INFINITY,
            }
        }));
        scratch.give_numbers(vector);
        out.class = most(&out.probabilities);
        if want == Want::Class {
            return out.probabilities.clear();
        }
        let variance = self.variance();
        let best = out.class.map_or(0.0, |class| out.probabilities[class as usize]);
        for score in &mut out.probabilities {
            // Without any spread only the nearest classes are possible.
            let behind = *score - best;
            *score = match behind == 0.0 || variance > 0.0 {
                true if behind == 0.0 => 0.0,
                true => behind / (2.0 * variance),
                false => f64::NEG_INFINITY,
            };
        }
        softmax(&mut out.probabilities);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, scratch)
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        learn_each(self, batch, scratch)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Class 0: (0, 0) and (2, 0), mean (1, 0), scatter 2. Class 1: (4, 0). σ² = 2 / (3 · 2) = 1/3. At (2, 0) the squared
    /// distances are 1 and 4: P(0) = 1 / (1 + e^(−3 · 3/2)).
    #[test]
    fn three_examples_by_hand() {
        let description = registry::resolve(&json!({ "name": NAME })).unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for (x, y) in [([0.0, 0.0], 0), ([2.0, 0.0], 0), ([4.0, 0.0], 1)] {
            model.learn(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
        }
        model.predict(Row::Plain(&[2.0, 0.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, Some(0));
        assert!((out.probabilities[0] - 1.0 / (1.0 + (-4.5f64).exp())).abs() < 1e-15);
    }
}
