//! Streaming linear discriminant analysis (Hayes and Kanan, 2020): Gaussian classes with a common covariance, from running
//! means and the running scatter within the classes.
//!
//! ```text
//! S ← S + w n/(n + w) δ δᵀ,  μ_y ← μ_y + w/(n + w) δ,  δ = x − μ_y       (n: the weight of class y so far)
//! Σ = (1 − ε) S/N + ε tr(S/N)/d · I,   zₖ = xᵀΣ⁻¹μₖ − ½ μₖᵀΣ⁻¹μₖ + ln πₖ
//! ```
//! S is exactly the scatter within the classes, so that after every row the classifier is that of batch discriminant
//! analysis on all rows so far, in any order: scikit-learn's `LinearDiscriminantAnalysis(solver="lsqr", shrinkage=ε)`. The
//! paper adds ε I whatever the scale of the features; here the shrinkage is relative to their mean variance, as there.
//! The first prediction after a row factorises Σ and solves for all classes at once; others use the result. A missing number
//! counts as 0.

use std::sync::{Mutex, OnceLock};

use pulp::Arch;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{learn_each, Learner};
use crate::linear_algebra::packed_triangle::triangle;
use crate::linear_algebra::BorderedTriangle;
use crate::linear_model::{named, softmax_regression::softmax};
use crate::merging::{Merge, Merger, Side};
use crate::numeric::dot;
use crate::numeric::magnitude::{check_row, LARGEST};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes};

use super::class_means::ClassMeans;

const NAME: &str = "continual.StreamingLDA";
/// The scatter of this many coordinates takes 64 MB, and its factor twice as much.
const MOST_COORDINATES: usize = 4096;
/// Added to a covariance that rounding has made indefinite, relative to its mean variance; raised by factors of 100.
const LEAST_RAISE: f64 = 1e-14;
/// A feature of whose variance no larger part is its own depends on others, to rounding.
const LEAST_OWN: f64 = 1e-13;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Linear discriminant analysis from running sums: equal to the batch in any order, forgets no class",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "shrinkage",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(1e-4),
            "weight of a multiple of the identity in the covariance; 0 needs more rows than features and classes",
        ),
        Parameter::new(
            "priors",
            Kind::Choice(&["empirical", "uniform"]),
            DefaultValue::Text("empirical"),
            "prior probabilities of the classes: their frequencies, or equal",
        ),
    ],
    build: |arguments| {
        Ok(Built::Classifier(Box::new(StreamingLda {
            shrinkage: arguments.float("shrinkage")?,
            uniform: arguments.text("priors")? == "uniform",
            state: State::default(),
            vector: Vec::new(),
            solved: OnceLock::new(),
            spare: Mutex::new(Solved::default()),
            arch: Arch::new(),
        })))
    },
};

struct StreamingLda {
    shrinkage: f64,
    uniform: bool,
    state: State,
    vector: Vec<f64>,
    /// The discriminants of the present state, since the first prediction.
    solved: OnceLock<Solved>,
    /// Buffers of earlier ones.
    spare: Mutex<Solved>,
    arch: Arch,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    classes: ClassMeans,
    /// S, its lower triangle row after row.
    scatter: Vec<f64>,
    /// Its trace.
    trace: f64,
}

/// The discriminant functions of all classes.
#[derive(Clone, Debug, Default)]
struct Solved {
    /// R of Σ = RᵀR, with R⁻ᵀμₖ of all classes at its side: xᵀΣ⁻¹μₖ is (R⁻ᵀx)ᵀ(R⁻ᵀμₖ).
    factor: BorderedTriangle,
    /// −½ μₖᵀΣ⁻¹μₖ + ln πₖ; −∞ for a class that was not met.
    intercepts: Vec<f64>,
    /// Whether Σ had to be raised although no shrinkage was wanted.
    singular: bool,
}

impl Clone for StreamingLda {
    fn clone(&self) -> Self {
        StreamingLda {
            state: self.state.clone(),
            vector: Vec::new(),
            solved: OnceLock::new(),
            spare: Mutex::new(Solved::default()),
            ..*self
        }
    }
}

/// S ← S + factor δ δᵀ
fn add_product(scatter: &mut [f64], factor: f64, delta: &[f64]) {
    let mut start = 0;
    for (i, &d) in delta.iter().enumerate() {
        let along = factor * d;
        scatter[start..=start + i].iter_mut().zip(delta).for_each(|(s, d)| *s += along * d);
        start += i + 1;
    }
}

impl StreamingLda {
    /// The state has changed.
    fn forget_solution(&mut self) {
        if let Some(solved) = self.solved.take() {
            self.spare = Mutex::new(solved);
        }
    }

    fn solution(&self) -> &Solved {
        self.solved.get_or_init(|| {
            let mut solved = match self.spare.lock() {
                Ok(mut spare) => std::mem::take(&mut *spare),
                Err(_) => Solved::default(),
            };
            self.solve(&mut solved);
            solved
        })
    }

    fn solve(&self, solved: &mut Solved) {
        let State { classes, scatter, .. } = &self.state;
        let (width, total) = (classes.width(), classes.total());
        let Solved { factor, intercepts, singular } = solved;
        let diagonal = |i: usize| scatter[triangle(i) + i];
        let mean_variance = (0..width).map(diagonal).sum::<f64>() / (total * width.max(1) as f64);
        let (weight, least) = ((1.0 - self.shrinkage) / total, self.shrinkage * mean_variance);
        let mut raise = least;
        // Without any spread within the classes, the nearest mean is all there is to know.
        let mut spread = mean_variance > 0.0;
        *singular = false;
        loop {
            let added = if spread { raise } else { 1.0 };
            factor.reset(width, classes.counts.len());
            for i in 0..width {
                let (sides, row) = factor.row_mut(i);
                sides.iter_mut().zip(&classes.means).for_each(|(side, mean)| *side = mean[i]);
                if spread {
                    let entries = &scatter[triangle(i)..=triangle(i) + i];
                    row.iter_mut().zip(entries).for_each(|(entry, s)| *entry = weight * s);
                }
                row[i] += added;
            }
            if factor.eliminate(self.arch) {
                // The part of each variance that later features do not explain.
                let entry = |i: usize| if spread { weight * diagonal(i) + added } else { added };
                let own = (0..width).map(|i| factor.row(i).1[i].powi(2) / entry(i)).fold(1.0, f64::min);
                if own > LEAST_OWN {
                    break;
                }
            }
            *singular = true;
            raise = if raise > 0.0 { 100.0 * raise } else { LEAST_RAISE * mean_variance };
            if !raise.is_finite() {
                raise = 1.0;
                spread = false;
            }
        }
        *singular &= self.shrinkage == 0.0;
        *singular |= self.shrinkage == 0.0 && width > 0 && mean_variance == 0.0;
        intercepts.clear();
        intercepts.resize(classes.counts.len(), 0.0);
        for i in 0..width {
            let sides = factor.row_mut(i).0;
            sides.iter_mut().for_each(|number| *number = finite(*number));
            intercepts.iter_mut().zip(sides).for_each(|(sum, number)| *sum += *number * *number);
        }
        let met = classes.counts.iter().filter(|&&count| count > 0.0).count() as f64;
        for (intercept, &count) in intercepts.iter_mut().zip(&classes.counts) {
            let prior = if self.uniform { 1.0 / met } else { count / total };
            *intercept = if count > 0.0 { finite(prior.ln() - 0.5 * *intercept) } else { f64::NEG_INFINITY };
        }
    }

    fn take(&mut self, x: Row<'_>, y: usize, w: f64, scratch: &mut Scratch) -> Result<()> {
        check_row(NAME, x, LARGEST)?;
        let State { classes, scatter, trace } = &mut self.state;
        let growth = classes.grow(NAME, MOST_COORDINATES, x, y)?;
        let width = classes.width();
        classes.vector(x, &mut self.vector, scratch);
        let (count, mean) = (classes.counts[y], &mut classes.means[y]);
        let (sum, first) = (count + w, count == 0.0);
        if first {
            mean.copy_from_slice(&self.vector);
        }
        self.vector.iter_mut().zip(mean.iter()).for_each(|(x, mean)| *x -= mean);
        let factor = count * (w / sum);
        let more = factor * dot(&self.vector, &self.vector);
        // No entry of the scatter is larger than its trace.
        if !((*trace + more).is_finite() && sum.is_finite() && all_finite(&self.vector)) {
            if first {
                mean.fill(0.0);
            }
            classes.shrink(growth);
            return Err(Fault::overflow(NAME));
        }
        scatter.resize(triangle(width), 0.0);
        if !first {
            add_product(scatter, factor, &self.vector);
            let fraction = w / sum;
            mean.iter_mut().zip(&self.vector).for_each(|(mean, delta)| *mean += fraction * delta);
        }
        *trace += more;
        classes.counts[y] = sum;
        self.forget_solution();
        Ok(())
    }
}

impl Part for StreamingLda {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.classes.validate(NAME)?;
        let width = state.classes.width();
        require(NAME, width <= MOST_COORDINATES, "too many coordinates")?;
        let learned = state.classes.total() > 0.0;
        let size = if learned { triangle(width) } else { 0 };
        require(NAME, state.scatter.len() == size && all_finite(&state.scatter), "the scatter is not valid")?;
        let positive = (0..if learned { width } else { 0 }).all(|i| state.scatter[triangle(i) + i] >= 0.0);
        require(NAME, positive && state.trace.is_finite() && state.trace >= 0.0, "the scatter is negative")?;
        self.state = state;
        self.forget_solution();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let State { classes, scatter, trace } = &mut self.state;
        let mut join = |side: Side<'_>, sign: f64| -> Result<()> {
            let other: State = unpack(NAME, side.state)?;
            let mut products: Vec<(f64, Vec<f64>)> = Vec::new();
            let indices =
                classes.join(&other.classes, side, merger, sign, |(ours, mean), (theirs, their_mean)| {
                    let delta = || mean.iter().zip(their_mean).map(|(a, b)| a - b).collect();
                    let rest = ours + sign * theirs;
                    if ours > 0.0 && rest > 0.0 {
                        products.push((sign * ours * theirs / rest, delta()));
                    }
                })?;
            scatter.resize(triangle(classes.width()), 0.0);
            for (i, &a) in indices.iter().enumerate() {
                for (j, &b) in indices[..=i].iter().enumerate() {
                    let (low, high) = (a.min(b) as usize, a.max(b) as usize);
                    scatter[triangle(high) + low] += sign * other.scatter[triangle(i) + j];
                }
            }
            products.iter().for_each(|(factor, delta)| add_product(scatter, *factor, delta));
            Ok(())
        };
        join(merger.other, 1.0)?;
        if let Some(base) = merger.base {
            join(base, -1.0)?;
        }
        *trace = 0.0;
        for i in 0..classes.width() {
            // Rounding must not make a variance negative.
            let entry = &mut scatter[triangle(i) + i];
            *entry = entry.max(0.0);
            *trace += *entry;
        }
        let sound = trace.is_finite() && all_finite(scatter);
        self.forget_solution();
        sound.then_some(()).ok_or_else(|| Fault::overflow(NAME))
    }

    fn memory(&self) -> usize {
        let solved = |solved: &Solved| solved.factor.memory() + 8 * solved.intercepts.capacity();
        std::mem::size_of::<Self>()
            + self.state.classes.memory()
            + 8 * (self.state.scatter.capacity() + self.vector.capacity())
            + self.solved.get().map_or(0, solved)
            + self.spare.lock().map_or(0, |spare| solved(&spare))
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, checks_rows: self.shrinkage == 0.0, ..Abilities::default() }
    }

    /// Without shrinkage, refuse to predict before the covariance can be inverted.
    fn check(&self, _x: Row<'_>, _scratch: &mut Scratch) -> Result<()> {
        let State { classes, .. } = &self.state;
        let (rows, width) = (classes.total(), classes.width());
        if self.shrinkage > 0.0 || rows == 0.0 {
            return Ok(());
        }
        let met = classes.counts.iter().filter(|&&count| count > 0.0).count();
        let needed = width + met;
        if rows < needed as f64 {
            return Err(Fault::value(format!(
                "{NAME}: with shrinkage=0 it must learn at least {needed} rows ({width} features and {met} classes) \
                 before it predicts, got {rows}: set a small shrinkage"
            )));
        }
        match self.solution().singular {
            true => Err(Fault::value(format!(
                "{NAME}: shrinkage must be positive for features that are constant within the classes or depend on \
                 each other linearly, got 0: the covariance has no inverse"
            ))),
            false => Ok(()),
        }
    }

    /// `{"counts": […], "means": […], "coefficients": [{feature: number}, …], "intercepts": […]}`, by class code.
    fn inspect(&self, schema: &Schema) -> Json {
        let ClassMeans { coordinates, counts, means } = &self.state.classes;
        if counts.is_empty() {
            return json!({ "counts": [], "means": [], "coefficients": [], "intercepts": [] });
        }
        let by_feature = |numbers: &[f64]| {
            named(schema, |slot, value| numbers.get(coordinates.of(slot, value)? as usize).copied())
        };
        let Solved { factor, intercepts, .. } = self.solution();
        let (width, coefficients) = (self.state.classes.width(), factor.solution());
        json!({
            "counts": counts,
            "means": means.iter().map(|mean| by_feature(mean)).collect::<Vec<_>>(),
            "coefficients": (0..counts.len())
                .map(|class| by_feature(&coefficients[class * width..(class + 1) * width]))
                .collect::<Vec<_>>(),
            "intercepts": intercepts.iter().map(|&number| finite(number)).collect::<Vec<_>>(),
        })
    }

    fn scalars(&self) -> Json {
        json!({ "counts": self.state.classes.counts })
    }
}

impl Learner<Classes> for StreamingLda {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        out.clear();
        let classes = &self.state.classes;
        if classes.total() == 0.0 {
            return;
        }
        let Solved { factor, intercepts, .. } = self.solution();
        let (mut vector, mut numbers) = (scratch.take_numbers(), scratch.take_numbers());
        classes.vector(x, &mut vector, scratch);
        numbers.resize(intercepts.len(), 0.0);
        numbers.extend_from_slice(&vector);
        factor.project(self.arch, &mut numbers);
        out.probabilities.extend(intercepts.iter().zip(&numbers).map(|(&intercept, &projection)| {
            match intercept > f64::NEG_INFINITY {
                true => finite(intercept - projection),
                false => f64::NEG_INFINITY,
            }
        }));
        scratch.give_numbers(numbers);
        scratch.give_numbers(vector);
        out.class = most(&out.probabilities);
        match want {
            Want::Class => out.probabilities.clear(),
            Want::Probabilities => softmax(&mut out.probabilities),
        }
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

    fn build(parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// One feature. Class 0: 0 and 2, mean 1, S = 2. Class 1: 4 and 6, mean 5, S = 4. Σ = 4/4 = 1, whatever the shrinkage.
    /// At x = 2: z₀ = 2 − 1/2, z₁ = 10 − 25/2, so z₀ − z₁ = 4 and P(0) = 1 / (1 + e⁻⁴).
    #[test]
    fn four_examples_by_hand() {
        for shrinkage in [0.0, 0.3] {
            let mut model = build(json!({ "shrinkage": shrinkage }));
            let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
            for (x, y) in [(0.0, 0), (4.0, 1), (2.0, 0), (6.0, 1)] {
                model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
            }
            model.predict(Row::Plain(&[2.0]), Want::Probabilities, &mut out, &mut scratch);
            assert!((out.probabilities[0] - 1.0 / (1.0 + (-4.0f64).exp())).abs() < 1e-14);
            assert!(model.check(Row::Plain(&[2.0]), &mut scratch).is_ok());
        }
    }

    #[test]
    fn too_few_rows_are_refused_without_shrinkage() {
        let mut model = build(json!({ "shrinkage": 0.0 }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0, 2.0]), 0, 1.0, &mut scratch).unwrap();
        let fault = model.check(Row::Plain(&[1.0, 2.0]), &mut scratch).unwrap_err();
        assert!(fault.to_string().contains("at least 3 rows"), "{fault}");
        for index in 0..10 {
            model.learn(Row::Plain(&[f64::from(index), 2.0]), index % 2, 1.0, &mut scratch).unwrap();
        }
        let fault = model.check(Row::Plain(&[1.0, 2.0]), &mut scratch).unwrap_err();
        assert!(fault.to_string().contains("no inverse"), "{fault}");
    }
}
