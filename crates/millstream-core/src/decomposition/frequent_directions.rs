//! Frequent Directions: a sketch B of few rows whose BᵀB approximates AᵀA of all rows, with a bound.
//!
//! Ghashami, Liberty, Phillips and Woodruff (2016), "Frequent directions: simple and deterministic matrix
//! sketching", SIAM Journal on Computing 45(5). Rows are appended to the sketch. When it has 2 l rows, it is
//! decomposed, and its squared singular values are lowered by δ = σ²ₗ₊₁, which leaves l rows (section 3.3). So
//! ```text
//! 0 ≤ ‖A x‖² − ‖B x‖² ≤ Σ δ ≤ ‖A‖²_F / (l + 1)     for every x of length 1 and after every row,
//! ```
//! since a step with δ takes at least (l + 1) δ from the squares of the sketch. Σ δ is stored: it is the bound for
//! the stream at hand. With weights, rows are multiplied by the square roots of theirs. Two sketches merge by
//! appending the rows of one to the other; their bounds add up.
//!
//! The components are the first right singular vectors of the sketch at its last decomposition, the first of which
//! comes after l rows.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::linear_algebra::ThinSvd;
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::components::Components;
use super::decomposer::{Decomposer, Method, Report, N_COMPONENTS};
use super::waiting_rows::{Layout, WaitingRows};

pub static DECLARATION: Declaration = Declaration {
    name: FrequentDirections::NAME,
    role: Role::Transformer,
    words: "Matrix sketch with an error bound after every row, and its principal directions",
    merge: Merge::bounded("the bounds of both sketches add up"),
    parameters: &[
        N_COMPONENTS,
        Parameter::new(
            "sketch_size",
            Kind::Integer { low: 1, high: 10_000 },
            DefaultValue::Integer(20),
            "number of rows of the sketch, at least n_components",
        ),
    ],
    build: |arguments| {
        let (n_components, sketch_size) = (arguments.size("n_components")?, arguments.size("sketch_size")?);
        if sketch_size < n_components {
            let who = FrequentDirections::NAME;
            return Err(Fault::value(format!(
                "{who}: sketch_size must be at least n_components = {n_components}, got {sketch_size}"
            )));
        }
        Ok(Decomposer::build(FrequentDirections { n_components, sketch_size }))
    },
};

#[derive(Clone)]
struct FrequentDirections {
    n_components: usize,
    sketch_size: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    /// The right singular vectors of the sketch.
    directions: Components,
    /// Its singular values.
    values: Vec<f64>,
    /// ‖A‖²_F, and Σ δ.
    squares: f64,
    bound: f64,
}

#[derive(Clone, Debug, Default)]
struct Work {
    rows: Vec<f64>,
    svd: ThinSvd,
}

impl Fitted {
    /// Append the rows of the sketch, `width` numbers each.
    fn write(&self, width: usize, out: &mut Vec<f64>) {
        for (direction, value) in self.directions.each().zip(&self.values) {
            let end = out.len() + width;
            out.extend(direction.iter().map(|x| x * value));
            out.resize(end, 0.0);
        }
    }
}

impl FrequentDirections {
    /// Decompose the rows of `work`, lower the singular values, and write the rest to `next`.
    fn shrink(&self, width: usize, previous: &Components, next: &mut Fitted, work: &mut Work) -> bool {
        work.svd.compute(&work.rows, width);
        let ThinSvd { values, vectors, .. } = &work.svd;
        let delta = values.get(self.sketch_size).map_or(0.0, |value| value * value);
        next.values.clear();
        let lowered = values.iter().take(self.sketch_size).map(|value| (value * value - delta).max(0.0).sqrt());
        next.values.extend(lowered);
        let vectors = &vectors[..next.values.len() * width];
        next.directions.replace(previous, vectors, width);
        next.bound += delta;
        next.bound.is_finite() && next.squares.is_finite() && all_finite(&next.values)
    }
}

impl Method for FrequentDirections {
    const NAME: &'static str = "decomposition.FrequentDirections";
    const OUTPUT: &'static str = "direction";
    const LAYOUT: Layout = Layout::Dense;
    type Fitted = Fitted;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn is_due(&self, _fitted: &Fitted, waiting: usize) -> bool {
        waiting >= self.sketch_size
    }

    fn update(
        &self,
        fitted: &Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Fitted,
        work: &mut Work,
    ) -> bool {
        let width = absent.len();
        work.rows.clear();
        fitted.write(width, &mut work.rows);
        (next.squares, next.bound) = (fitted.squares, fitted.bound);
        for row in 0..rows.len() {
            let (start, root) = (work.rows.len(), rows.weight(row).sqrt());
            work.rows.extend(rows.values(row).iter().map(|x| x * root));
            next.squares += work.rows[start..].iter().map(|x| x * x).sum::<f64>();
            work.rows.resize(start + width, 0.0);
        }
        self.shrink(width, &fitted.directions, next, work)
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        !fitted.values.is_empty()
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.directions.width
    }

    fn transform(&self, fitted: &Fitted, _: &[u32], values: &mut [f64], out: &mut [f64], _: &mut Scratch) {
        fitted.directions.project(values, out);
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let who = Self::NAME;
        fitted.directions.validate(who, self.sketch_size)?;
        require(who, fitted.values.len() == fitted.directions.len(), "values and directions differ in number")?;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&x| x >= 0.0);
        require(
            who,
            positive(&fitted.values) && positive(&[fitted.squares, fitted.bound]),
            "a value is not finite",
        )
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        fitted.directions.memory() + 8 * fitted.values.capacity()
    }

    fn work_memory(&self, work: &Work) -> usize {
        8 * work.rows.capacity() + work.svd.memory()
    }

    fn report(&self, fitted: &Fitted, rows: &WaitingRows) -> Report {
        let mut report = Report::default();
        let waiting =
            |row: usize| rows.values(row).iter().map(|x| x * rows.weight(row).sqrt()).collect::<Vec<f64>>();
        let waiting: Vec<Vec<f64>> = (0..rows.len()).map(waiting).collect();
        let squares = waiting.iter().flatten().map(|x| x * x).sum::<f64>() + fitted.squares;
        report.numbers.insert("squared_norm".into(), json!(squares));
        report.numbers.insert("error_bound".into(), json!(fitted.bound));
        report.numbers.insert("singular_values".into(), json!(fitted.values));
        let scaled = fitted.directions.each().zip(&fitted.values);
        let sketch = scaled.map(|(direction, value)| direction.iter().map(|x| x * value).collect());
        report.vectors.push(("sketch", sketch.chain(waiting).collect()));
        let components = fitted.directions.each().take(self.n_components);
        report.vectors.push(("components", components.map(<[f64]>::to_vec).collect()));
        report
    }

    /// The result is a sketch of the whole stream with the sum of both bounds, not the one that the stream in one
    /// piece has.
    fn merge(&self, fitted: &mut Fitted, other: &Fitted, indices: &[usize], width: usize) -> Result<()> {
        let mut work = Work::default();
        fitted.write(width, &mut work.rows);
        for (direction, value) in other.directions.each().zip(&other.values) {
            let start = work.rows.len();
            work.rows.resize(start + width, 0.0);
            direction.iter().zip(indices).for_each(|(x, &index)| work.rows[start + index] = x * value);
        }
        let mut next = Fitted {
            squares: fitted.squares + other.squares,
            bound: fitted.bound + other.bound,
            ..Fitted::default()
        };
        if !self.shrink(width, &fitted.directions, &mut next, &mut work) {
            return Err(Fault::overflow(Self::NAME));
        }
        *fitted = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// A sketch of one row. (3, 0): itself. (0, 2): the squares 9 and 4 are lowered by 4, which leaves √5 (1, 0)
    /// and the bound 4, at most ‖A‖² / 2 = 13/2. (0, 3): the squares 5 and 9 become 4 along (0, 1), with the bound
    /// 9, at most 22/2.
    #[test]
    fn three_rows_by_hand() {
        let mut sketch = transformer(FrequentDirections::NAME, json!({ "n_components": 1, "sketch_size": 1 }));
        let numbers = |part: &dyn crate::transformer::Transformer| {
            let shown = part.inspect(&Schema::default());
            [&shown["singular_values"][0], &shown["error_bound"], &shown["squared_norm"]]
                .map(|x| x.as_f64().unwrap())
        };
        learn(&mut *sketch, &[&[3.0, 0.0]]);
        near(&numbers(&*sketch), &[3.0, 0.0, 9.0]);
        learn(&mut *sketch, &[&[0.0, 2.0]]);
        near(&numbers(&*sketch), &[5f64.sqrt(), 4.0, 13.0]);
        near(&transformed(&*sketch, &[7.0, 8.0]), &[7.0]);
        learn(&mut *sketch, &[&[0.0, 3.0]]);
        near(&numbers(&*sketch), &[2.0, 9.0, 22.0]);
        near(&transformed(&*sketch, &[7.0, 8.0]), &[8.0]);
    }

    #[test]
    fn learning_is_undone() {
        let parameters = json!({ "n_components": 1, "sketch_size": 2 });
        let mut sketch = transformer(FrequentDirections::NAME, parameters);
        undoes(&mut *sketch, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
