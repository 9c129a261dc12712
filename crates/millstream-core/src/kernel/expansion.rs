//! The kernel expansion and its gradient recursion, shared by all kernel learners by gradient.
//!
//! f(x) = Σᵢ cᵢ k(xᵢ, x) + b follows the gradient of a loss ℓ at one example after the other: with z = f(x), slope
//! s = ∂ℓ/∂z and rate η,
//! ```text
//! cᵢ ← (1 − η λ) cᵢ,   c_new = −η s,   b ← b − η s
//! ```
//! which for the squared loss and λ = 0 is the recursion (cᵢ)ᵢ = γᵢ (yᵢ − Σⱼ (cᵢ₋₁)ⱼ K(xⱼ, xᵢ)), up to the factor 2
//! of the slope, and in general NORMA (Kivinen, Smola and Williamson, 2004, "Online learning with kernels", IEEE
//! Transactions on Signal Processing 52(8), eq. 11 and 12). An example without a slope is not kept: its coefficient
//! would be 0. What happens when the budget of points is full is in `budget`.
//!
//! There may be several outputs, each with coefficients of its own over the same points.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::numeric::dot;
use crate::optim::Schedule;
use crate::parameter::Arguments;
use crate::row::{all_finite, finite, Row, Scratch};
use crate::schema::Schema;

use super::budget::{Maintenance, MaintenanceState};
use super::dictionary::{Dictionary, Located};
use super::kernels::Kernel;
use super::points::Vector;
use crate::linear_algebra::GrowingCholesky;

#[derive(Clone, Debug)]
pub struct Expansion {
    pub who: &'static str,
    pub kernel: Kernel,
    rate: Schedule,
    l2: f64,
    intercept: bool,
    /// Maximum number of points; None for no limit.
    pub budget: Option<usize>,
    pub maintenance: Maintenance,
    pub state: State,
    pub work: Work,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub dictionary: Dictionary,
    /// By output and point.
    pub coefficients: Vec<Vec<f64>>,
    /// By output.
    pub intercepts: Vec<f64>,
    /// The number of the example of each point.
    pub born: Vec<f64>,
    /// Number of learned examples.
    pub t: f64,
    #[serde(rename = "upkeep")]
    pub maintenance: MaintenanceState,
}

/// Buffers for one example, kept so that nothing is allocated per example.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub x: Vector,
    /// k(xᵢ, x) of all points, and k(x, x).
    pub row: Vec<f64>,
    pub itself: f64,
    pub scores: Vec<f64>,
    /// By output: the slopes of the loss, then the coefficients of the new point.
    pub step: Vec<f64>,
    /// The learning rate of this step, and the decay of the old coefficients.
    pub rate: f64,
    pub decay: f64,
    /// The loss of this example, and its margin where it has one.
    pub loss: f64,
    pub margin: f64,
    pub point: Vector,
    pub other_row: Vec<f64>,
    pub numbers: Vec<f64>,
    pub factor: GrowingCholesky,
    pub turns: Vec<(f64, f64)>,
}

impl Expansion {
    pub fn new(who: &'static str, arguments: &Arguments<'_>, for_classes: bool) -> Result<Self> {
        let kernel = Kernel::of(arguments)?;
        let budget = match arguments.value("budget")? {
            Json::Null => None,
            _ => Some(arguments.size("budget")?),
        };
        Ok(Expansion {
            who,
            kernel,
            rate: arguments.rate("learning_rate")?,
            l2: arguments.float("l2")?,
            intercept: arguments.boolean("intercept")?,
            budget,
            maintenance: Maintenance::new(arguments, &kernel, for_classes)?,
            state: State::default(),
            work: Work::default(),
        })
    }

    /// The outputs for `x`, into `scores`, limited to finite numbers.
    pub fn predict(&self, x: Row<'_>, scores: &mut Vec<f64>, scratch: &mut Scratch) {
        let located = Located::new(&self.state.dictionary, &self.kernel, x, scratch);
        self.state.scores(&located.row, scores);
        scores.iter_mut().for_each(|score| *score = finite(*score));
        located.release(scratch);
    }

    /// Compute the kernel values and the scores of an example to learn. Returns the width before, for `part`.
    pub fn meet(&mut self, x: Row<'_>) -> Result<usize> {
        let before = match self.state.dictionary.knows(x) {
            true => self.state.dictionary.points.width(),
            false => self.state.dictionary.grow(x),
        };
        let (dictionary, work) = (&self.state.dictionary, &mut self.work);
        dictionary.locate(x, &mut work.x);
        self.kernel.row(&dictionary.points, &work.x, &mut work.row);
        work.itself = self.kernel.itself(&work.x);
        self.state.scores(&work.row, &mut work.scores);
        if all_finite(&work.row) && work.itself.is_finite() && all_finite(&work.scores) {
            return Ok(before);
        }
        self.part(before);
        Err(Fault::overflow(self.who))
    }

    /// Remove the features of an example that is not learned after all.
    pub fn part(&mut self, before: usize) {
        if self.state.dictionary.points.width() > before {
            self.state.dictionary.shrink(before);
        }
    }

    /// Take the step along the slopes in `work.step`, or change nothing.
    pub fn follow(&mut self) -> Result<()> {
        let (state, work) = (&mut self.state, &mut self.work);
        let t = state.t + 1.0;
        work.rate = self.rate.at(t);
        work.decay = (1.0 - work.rate * self.l2).max(0.0);
        work.step.iter_mut().for_each(|step| *step *= -work.rate);
        let sound = |number: &f64| number.is_finite();
        let finite = work.step.iter().all(sound)
            && work.decay.is_finite()
            && state.intercepts.iter().zip(&work.step).all(|(intercept, step)| sound(&(intercept + step)));
        if !finite {
            return Err(Fault::overflow(self.who));
        }
        if work.step.iter().any(|&step| step != 0.0) {
            self.admit()?;
        } else {
            state.fade(work.decay);
        }
        let (state, work) = (&mut self.state, &self.work);
        if self.intercept {
            state.intercepts.iter_mut().zip(&work.step).for_each(|(intercept, step)| *intercept += step);
        }
        state.t = t;
        Ok(())
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state: State = unpack(self.who, bytes)?;
        state.dictionary.revive(self.who, &self.kernel, state.born.len())?;
        let n = state.dictionary.len();
        require(self.who, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        require(self.who, n <= self.budget.unwrap_or(usize::MAX), "more points than the budget")?;
        require(self.who, state.born.len() == n && all_finite(&state.born), "points without a time")?;
        require(self.who, n == 0 || !state.coefficients.is_empty(), "points without coefficients")?;
        for coefficients in &state.coefficients {
            require(self.who, coefficients.len() == n && all_finite(coefficients), "coefficients do not fit")?;
        }
        let intercepts = &state.intercepts;
        require(self.who, intercepts.len() == state.coefficients.len(), "intercepts of the wrong number")?;
        let none = !self.intercept && intercepts.iter().any(|&intercept| intercept != 0.0);
        require(self.who, all_finite(intercepts) && !none, "an intercept does not fit")?;
        state.maintenance.validate(self.who, &self.maintenance, self.budget.is_some(), n)?;
        self.state = state;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let State { dictionary, coefficients, intercepts, born, maintenance, .. } = &self.state;
        let numbers = |numbers: &Vec<f64>| 24 + 8 * numbers.capacity();
        let Work { x, row, scores, step, point, other_row, numbers: more, factor, turns, .. } = &self.work;
        std::mem::size_of::<Self>()
            + dictionary.memory()
            + maintenance.factor.memory()
            + factor.memory()
            + 16 * turns.capacity()
            + x.memory()
            + point.memory()
            + coefficients
                .iter()
                .chain([intercepts, born, row, scores, step, other_row, more])
                .map(numbers)
                .sum::<usize>()
    }

    /// `{"examples": …, "intercepts": […], "points": [{"coefficients": […], "features": {…}}, …]}`
    pub fn inspect(&self, schema: &Schema) -> Json {
        let State { dictionary, coefficients, intercepts, t, .. } = &self.state;
        let point = |index: usize| {
            let own: Vec<f64> = coefficients.iter().map(|of| of[index]).collect();
            json!({ "coefficients": own, "features": dictionary.named(index, schema) })
        };
        let points: Vec<Json> = (0..dictionary.len()).map(point).collect();
        json!({ "examples": t, "intercepts": intercepts, "points": points })
    }
}

impl State {
    /// The outputs at kernel values.
    pub fn scores(&self, row: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let of = |(coefficients, intercept): (&Vec<f64>, &f64)| dot(coefficients, row) + intercept;
        out.extend(self.coefficients.iter().zip(&self.intercepts).map(of));
    }

    /// Multiply all coefficients.
    pub fn fade(&mut self, factor: f64) {
        if factor != 1.0 {
            self.coefficients.iter_mut().flatten().for_each(|coefficient| *coefficient *= factor);
        }
    }

    /// Σ c² over outputs.
    pub fn square(&self, index: usize) -> f64 {
        self.coefficients.iter().map(|of| of[index] * of[index]).sum()
    }

    /// Start with this many outputs.
    pub fn outputs(&mut self, count: usize) {
        let n = self.dictionary.len();
        self.coefficients.resize_with(count, || vec![0.0; n]);
        self.intercepts.resize(count, 0.0);
    }
}
