//! Kernel recursive least squares over a dictionary of examples that are not nearly linear combinations of each other.
//!
//! Engel, Mannor and Meir (2004), "The kernel recursive least-squares algorithm", IEEE Transactions on Signal Processing
//! 52(8). An example joins the dictionary if its squared distance δ from the span of the dictionary is more than
//! ν k(x, x) (approximate linear dependence, eq. 8; ν is relative here, which for Gaussians is the same); either way all
//! examples so far are fitted by least squares over the dictionary, with each of them replaced by its projection.
//!
//! The paper updates K⁻¹ and P = (AᵀA)⁻¹, both of which lose digits for ever. Here the same solution is found in the
//! orthonormal basis that the Cholesky factor of K gives (see `linear_algebra::growing_cholesky`): x has the
//! coordinates u = L⁻¹k(x), which do not change when the dictionary grows, so f(x) = θᵀu is least squares with one
//! feature more now and then. R, the triangular factor of λ I + Σ w uuᵀ, takes in each example by plane rotations
//! (Golub and Van Loan, section 6.5), and R θ = z.
//! |f|² = |θ|² in the space of the kernel, so l2 = λ is kernel ridge regression; with λ = 0 it is the paper's.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::numeric::dot;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::dictionary::{Dictionary, Located};
use super::kernels::{Kernel, KERNEL};
use super::points::Vector;
use crate::linear_algebra::growing_cholesky::{GrowingCholesky, LEAST_FRACTION};

const NAME: &str = "kernel.KernelRLS";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Kernel recursive least squares over a dictionary of examples that approximates all others",
    merge: Merge::EXEMPLARS,
    parameters: &[
        KERNEL,
        Parameter::new(
            "tolerance",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.01),
            "approximation error, as a fraction of k(x, x), above which an example joins the dictionary",
        ),
        Parameter::new(
            "l2",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.01),
            "L2 penalty on the function",
        ),
        Parameter::new(
            "budget",
            Kind::Optional(&Kind::Integer { low: 1, high: 100_000 }),
            DefaultValue::Integer(500),
            "maximum number of examples in the dictionary; None for no limit",
        ),
    ],
    build: |arguments| {
        let kernel = Kernel::of(arguments)?;
        let budget = match arguments.value("budget")? {
            Json::Null => usize::MAX,
            _ => arguments.size("budget")?,
        };
        Ok(Built::Regressor(Box::new(KernelRls {
            kernel,
            tolerance: arguments.float("tolerance")?,
            l2: arguments.float("l2")?,
            budget,
            state: State::default(),
            work: Work::default(),
        })))
    },
};

#[derive(Clone)]
struct KernelRls {
    kernel: Kernel,
    tolerance: f64,
    l2: f64,
    budget: usize,
    state: State,
    work: Work,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    dictionary: Dictionary,
    factor: GrowingCholesky,
    squares: Squares,
    /// Number of learned examples.
    t: f64,
}

/// R θ = z.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Squares {
    /// The columns of R down to the diagonal, one after the other: column j has j + 1 numbers.
    columns: Vec<f64>,
    right: Vec<f64>,
    #[serde(skip)]
    theta: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    x: Vector,
    row: Vec<f64>,
    u: Vec<f64>,
    next: Squares,
    turns: Vec<(f64, f64)>,
}

fn start(column: usize) -> usize {
    column * (column + 1) / 2
}

impl Squares {
    /// One feature more, which no example had so far.
    fn grow(&mut self, l2: f64) {
        self.columns.resize(self.columns.len() + self.right.len(), 0.0);
        self.columns.push(l2.sqrt());
        self.right.push(0.0);
    }

    /// Take in the row (u, y) of weight w: rotate it into R from the first column to the last.
    fn take(&mut self, u: &[f64], y: f64, w: f64, turns: &mut Vec<(f64, f64)>) {
        let root = w.sqrt();
        turns.clear();
        for (column, &u) in u.iter().enumerate() {
            let numbers = &mut self.columns[start(column)..start(column) + column + 1];
            let mut rest = root * u;
            for (number, &(cosine, sine)) in numbers.iter_mut().zip(turns.iter()) {
                let turned = cosine * *number + sine * rest;
                rest = cosine * rest - sine * *number;
                *number = turned;
            }
            let length = numbers[column].hypot(rest);
            let turn = if length > 0.0 { (numbers[column] / length, rest / length) } else { (1.0, 0.0) };
            numbers[column] = length;
            turns.push(turn);
        }
        let mut rest = root * y;
        for (right, &(cosine, sine)) in self.right.iter_mut().zip(turns.iter()) {
            let turned = cosine * *right + sine * rest;
            rest = cosine * rest - sine * *right;
            *right = turned;
        }
    }

    /// θ = R⁻¹z; false if there is none.
    fn solve(&mut self) -> bool {
        self.theta.clone_from(&self.right);
        for column in (0..self.right.len()).rev() {
            let numbers = &self.columns[start(column)..start(column) + column + 1];
            let value = self.theta[column] / numbers[column];
            self.theta[column] = value;
            self.theta[..column].iter_mut().zip(numbers).for_each(|(theta, number)| *theta -= value * number);
        }
        all_finite(&self.theta) && all_finite(&self.columns) && all_finite(&self.right)
    }

    fn copy_from(&mut self, other: &Squares) {
        self.columns.clone_from(&other.columns);
        self.right.clone_from(&other.right);
    }

    fn memory(&self) -> usize {
        8 * (self.columns.capacity() + self.right.capacity() + self.theta.capacity())
    }
}

impl KernelRls {
    /// Learn, and return the prediction before.
    fn take(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<f64> {
        let before = match self.state.dictionary.knows(x) {
            true => self.state.dictionary.points.width(),
            false => self.state.dictionary.grow(x),
        };
        let learned = self.take_known(x, y, w);
        if learned.is_err() && self.state.dictionary.points.width() > before {
            self.state.dictionary.shrink(before);
        }
        learned
    }

    fn take_known(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<f64> {
        let KernelRls { kernel, state, work, .. } = self;
        state.dictionary.locate(x, &mut work.x);
        kernel.row(&state.dictionary.points, &work.x, &mut work.row);
        let itself = kernel.itself(&work.x);
        if !(all_finite(&work.row) && itself.is_finite()) {
            return Err(Fault::overflow(NAME));
        }
        let distance = state.factor.forward(&work.row, itself, &mut work.u);
        let predicted = dot(&state.squares.theta, &work.u);
        let joins =
            distance > self.tolerance.max(LEAST_FRACTION) * itself.abs() && state.dictionary.len() < self.budget;
        work.next.copy_from(&state.squares);
        if joins {
            work.next.grow(self.l2);
            work.u.push(distance.sqrt());
        }
        work.next.take(&work.u, y, w, &mut work.turns);
        if !(work.next.solve() && all_finite(&work.u)) {
            return Err(Fault::overflow(NAME));
        }
        if joins {
            let index = state.dictionary.len();
            work.u.pop();
            state.factor.push(index, &work.u, distance);
            state.dictionary.push(&work.x, itself);
        }
        std::mem::swap(&mut state.squares, &mut work.next);
        state.t += 1.0;
        Ok(finite(predicted))
    }
}

impl Part for KernelRls {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state: State = unpack(NAME, bytes)?;
        state.dictionary.revive(NAME, &self.kernel, state.squares.right.len())?;
        let n = state.dictionary.len();
        require(NAME, n <= self.budget, "more points than the budget")?;
        require(NAME, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        state.factor.validate(NAME, n)?;
        let fits = state.squares.right.len() == n && state.squares.columns.len() == start(n);
        require(NAME, fits, "squares of the wrong size")?;
        require(NAME, state.squares.solve(), "a number is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let Work { x, row, u, next, turns } = &self.work;
        std::mem::size_of::<Self>()
            + self.state.dictionary.memory()
            + self.state.factor.memory()
            + self.state.squares.memory()
            + next.memory()
            + x.memory()
            + 8 * (row.capacity() + u.capacity())
            + 16 * turns.capacity()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    /// `{"examples": …, "points": [{"coefficients": [c], "features": {…}}, …]}`, with f(x) = Σ c k(point, x)
    fn inspect(&self, schema: &Schema) -> Json {
        let State { dictionary, factor, squares, t } = &self.state;
        let mut by_row = squares.theta.clone();
        factor.backward(&mut by_row);
        let point = |(index, c): (&u32, &f64)| json!({ "coefficients": [c], "features": dictionary.named(*index as usize, schema) });
        json!({ "examples": t, "points": factor.indices.iter().zip(&by_row).map(point).collect::<Vec<_>>() })
    }
}

impl KernelRls {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let State { dictionary, factor, squares, .. } = &self.state;
        let located = Located::new(dictionary, &self.kernel, x, scratch);
        let mut u = scratch.take_numbers();
        factor.forward(&located.row, 0.0, &mut u);
        let predicted = finite(dot(&squares.theta, &u));
        scratch.give_numbers(u);
        located.release(scratch);
        predicted
    }
}

impl Learner<Numbers> for KernelRls {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w).map(drop)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if !self.state.dictionary.knows(x) {
            // Prediction must not use a feature before it is learned.
            *out = self.predicted(x, scratch);
            return self.take(x, y, w).map(drop);
        }
        *out = self.take(x, y, w)?;
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Learner<Numbers>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// With a linear kernel in one dimension the first x spans all: the dictionary is {2}, u = x (L = 2, k = 2x).
    /// λ = 1; (x, y) = (2, 4): θ = 8 / (1 + 4); (1, 1) of weight 3: θ = (8 + 3) / (1 + 4 + 3).
    #[test]
    fn two_steps_by_hand() {
        let mut model = build(json!({"kernel": "kernel.Linear", "l2": 1.0}));
        let mut scratch = Scratch::default();
        assert_eq!(model.step_number(Row::Plain(&[2.0]), 4.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert!((model.step_number(Row::Plain(&[1.0]), 1.0, 3.0, &mut scratch).unwrap() - 1.6).abs() < 1e-15);
        assert!((model.number(Row::Plain(&[2.0]), &mut scratch) - 2.75).abs() < 1e-15);
    }

    /// Engel, Mannor and Meir, eq. 14: without l2 a new point is fitted exactly. γ = ln 2: k(0, 1) = 1/2. (0, 1) gives
    /// c = 1. At 1, y = 2: δ = 1 − 1/4, f = 1/2; c₂ = (2 − 1/2) / (3/4) = 2 and c₁ = 1 − 1/2 · 2 = 0.
    #[test]
    fn a_new_point_is_interpolated_by_hand() {
        let kernel = json!({"name": "kernel.RBF", "parameters": {"gamma": std::f64::consts::LN_2}});
        let mut model = build(json!({"kernel": kernel, "l2": 0.0}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[0.0]), 1.0, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[1.0]), 2.0, 1.0, &mut scratch).unwrap();
        let shown = model.inspect(&Schema::default());
        let coefficient = |index: usize| shown["points"][index]["coefficients"][0].as_f64().unwrap();
        assert!(coefficient(0).abs() < 1e-15 && (coefficient(1) - 2.0).abs() < 1e-15, "{shown}");
    }
}
