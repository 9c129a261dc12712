//! Least squares by its normal equations, solved when predicting.
//!
//! Kept are the means and the scatter of target and features (scatter.rs), which is Σ w x xᵀ and Σ w x y about the
//! mean: an example costs d² / 2 multiplications, a third of what the recursion of RLS costs. Weights are computed at
//! the first prediction after learning, in d³ / 3, and cached until the next example. With S the scatter of features,
//! s that of features and target, n the weight of all examples, and an intercept b that l2 penalises like the other
//! weights:
//! ```text
//! (S + l2 I + κ x̄ x̄ᵀ) w = s + κ ȳ x̄,   κ = n l2 / (n + l2),   b = (ȳ − wᵀx̄) n / (n + l2)
//! ```
//! S + l2 I is scaled, factored and solved (`linear_algebra::pivoted_cholesky`), and κ comes in by the formula of
//! Sherman and Morrison, so that large means do not mask the scatter. Without l2 the system may be singular: then the
//! minimum-norm solution is used, in units of each feature's spread.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::{Merge, Merger};
use crate::part::Part;
use crate::row::{all_finite, finite, Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::scatter::Scatter;
use super::weight_vector::MOST_COORDINATES;
use super::{hyperplane, named, Coordinates};
use crate::linear_algebra::tiled_triangle::dot;
use crate::linear_algebra::PivotedCholesky;

const NAME: &str = "linear_model.LeastSquares";

/// A feature that the others explain up to a millionth of its spread counts as a linear combination of them: sums of
/// squares over a long stream are no more precise.
const TOLERANCE: f64 = 1e-12;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Least squares: accumulates sums of products and solves for the weights when predicting",
    merge: Merge::EXACT,
    parameters: &[hyperplane::L2, hyperplane::INTERCEPT],
    build: |arguments| {
        Ok(Built::Regressor(Box::new(LeastSquares {
            l2: arguments.float("l2")?,
            intercept: arguments.boolean("intercept")?,
            state: State::default(),
            solution: OnceLock::new(),
        })))
    },
};

#[derive(Clone)]
struct LeastSquares {
    l2: f64,
    intercept: bool,
    state: State,
    /// The intercept and the weights; nothing since an example was learned. It follows from the state alone, so
    /// it does not matter which of several threads works it out.
    solution: OnceLock<Vec<f64>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// The target first.
    scatter: Scatter,
}

impl LeastSquares {
    fn solution(&self) -> &[f64] {
        self.solution.get_or_init(|| self.solve())
    }

    fn solve(&self) -> Vec<f64> {
        let Scatter { weight, mean, .. } = &self.state.scatter;
        let n = self.state.coordinates.width();
        if *weight == 0.0 || mean.len() != n + 1 {
            return vec![0.0; n + 1];
        }
        let scatter = &self.state.scatter;
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                matrix[i * n + j] = scatter.get(i + 1, j + 1);
            }
            matrix[i * n + i] += self.l2;
        }
        let products: Vec<f64> = (0..n).map(|i| scatter.get(i + 1, 0)).collect();
        let cholesky = PivotedCholesky::new(&matrix, n, TOLERANCE);
        let mut weights = cholesky.solve(&products);
        let (y, x) = (mean[0], &mean[1..]);
        let mut constant = 0.0;
        if self.intercept {
            let pull = weight * self.l2 / (weight + self.l2);
            if pull > 0.0 {
                let toward = cholesky.solve(x);
                let step = pull * (y - dot(&weights, x)) / (1.0 + pull * dot(&toward, x));
                weights.iter_mut().zip(&toward).for_each(|(w, t)| *w += step * t);
            }
            constant = (y - dot(&weights, x)) * (weight / (weight + self.l2));
        }
        let mut solution = vec![constant];
        solution.append(&mut weights);
        // Numbers near the largest: the mean is all that can be said.
        if !all_finite(&solution) {
            solution.fill(0.0);
            solution[0] = if self.intercept { y } else { 0.0 };
        }
        solution
    }

    /// The target, and the example as a vector over all coordinates.
    fn vector(&self, x: Row<'_>, y: f64, out: &mut Vec<f64>) {
        let coordinates = &self.state.coordinates;
        out.clear();
        out.push(y);
        match x {
            Row::Plain(values) if coordinates.direct(values) => {
                out.extend_from_slice(&values[..coordinates.width()])
            }
            _ => {
                out.resize(coordinates.width() + 1, 0.0);
                x.each(|slot, value| {
                    if let Some(index) = coordinates.of(slot, value) {
                        out[index as usize + 1] = match value {
                            Value::Number(number) => number,
                            Value::Nominal(_) => 1.0,
                        };
                    }
                });
            }
        }
    }

    fn widen(&mut self) -> Result<()> {
        let width = self.state.coordinates.width();
        if width > MOST_COORDINATES {
            return Err(Fault::value(format!(
                "{NAME}: supports up to {MOST_COORDINATES} features and nominal values, got {width}: \
                 its sums grow with their square"
            )));
        }
        self.state.scatter.grow(width + 1);
        Ok(())
    }
}

impl Part for LeastSquares {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.coordinates.validate(NAME)?;
        let width = state.coordinates.width();
        let learned = state.scatter.weight > 0.0;
        require(NAME, learned || width == 0, "coordinates without sums")?;
        require(NAME, width <= MOST_COORDINATES, "too many coordinates")?;
        state.scatter.validate(NAME, if learned { width + 1 } else { 0 })?;
        self.state = state;
        self.solution.take();
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { coordinates, scatter } = &self.state;
        let solution = 8 * (1 + coordinates.width());
        std::mem::size_of::<Self>() + coordinates.memory() + scatter.memory() + solution
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut other: State = unpack(NAME, side.state)?;
            if other.scatter.width() == 0 {
                continue;
            }
            let indices = self.state.coordinates.join(&other.coordinates, side.schema, merger.ours)?;
            self.widen()?;
            let indices: Vec<usize> =
                std::iter::once(0).chain(indices.iter().map(|index| *index as usize + 1)).collect();
            other.scatter.multiply(sign);
            if !self.state.scatter.merge(&other.scatter, &indices, self.intercept) {
                return Err(Fault::overflow(NAME));
            }
        }
        self.solution.take();
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let solution = self.solution();
        let weight = |slot: usize, value: Value| {
            solution.get(self.state.coordinates.of(slot, value)? as usize + 1).copied()
        };
        json!({ "intercept": solution[0], "weights": named(schema, weight) })
    }
}

impl LeastSquares {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let mut vector = scratch.take_numbers();
        self.vector(x, 1.0, &mut vector);
        let score = dot(self.solution(), &vector);
        scratch.give_numbers(vector);
        finite(score)
    }
}

impl Learner<Numbers> for LeastSquares {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (before, width) = (self.state.coordinates.width(), self.state.scatter.width());
        let known = matches!(x, Row::Plain(values) if values.len() == before && !self.state.coordinates.mapped());
        if !known || width == 0 {
            self.state.coordinates.grow(x);
            self.widen().inspect_err(|_| self.state.coordinates.shrink(before))?;
        }
        let mut vector = scratch.take_numbers();
        self.vector(x, y, &mut vector);
        let learned = self.state.scatter.add(&mut vector, w, self.intercept);
        scratch.give_numbers(vector);
        if !learned {
            self.state.coordinates.shrink(before);
            self.state.scatter.shrink(width);
            return Err(Fault::overflow(NAME));
        }
        self.solution.take();
        Ok(())
    }

    fn learn_batch(&mut self, batch: &Batch<'_, Numbers>, _buffer: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let rows = batch.truths.iter().enumerate();
        let learned =
            |&(row, &y): &(usize, &f64)| self.learn(batch.rows.at(row), y, batch.weight(row), scratch).is_ok();
        rows.take_while(learned).count()
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::testing::Numeric;
    use crate::linear_model::regression_update::tests::regressor;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// Points (1, 3), (2, 5), (4, 9) lie on 2 x + 1. Means 7/3 and 17/3; squares 16/9 + 1/9 + 25/9 = 14/3, products
    /// twice that: w = 2, b = 17/3 − 14/3 = 1, and at 10 it is 21.
    #[test]
    fn one_solution_by_hand() {
        let mut model = regressor("linear_model.LeastSquares", json!({}));
        let mut scratch = Scratch::default();
        assert_eq!(model.number(Row::Plain(&[10.0]), &mut scratch), 0.0);
        for (x, y) in [(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)] {
            model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
        }
        assert!((model.number(Row::Plain(&[10.0]), &mut scratch) - 21.0).abs() < 1e-12);
    }

    /// l2 = 2, x = 2, y = 6 without an intercept: w = 2 · 6 / (2² + 2) = 2. With one, which l2 holds too:
    /// [[4 + 2, 2], [2, 1 + 2]] (w, b) = (12, 6) gives w = (36 − 12) / 14 = 12/7 and b = (36 − 24) / 14 = 6/7.
    #[test]
    fn ridge_by_hand() {
        let mut scratch = Scratch::default();
        for (intercept, expected) in [(false, 2.0), (true, 12.0 / 7.0 + 6.0 / 7.0)] {
            let mut model = regressor("linear_model.LeastSquares", json!({ "l2": 2.0, "intercept": intercept }));
            model.learn(Row::Plain(&[2.0]), 6.0, 1.0, &mut scratch).unwrap();
            let predicted = model.number(Row::Plain(&[1.0]), &mut scratch);
            assert!((predicted - expected).abs() < 1e-12, "{predicted}");
        }
    }
}
