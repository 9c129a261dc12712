//! Budget maintenance: admission of a new point, and which point is given up when the budget is full.
//!
//! | maintenance | when the budget of B points is full |
//! |---|---|
//! | removal | of the B + 1 the one whose removal changes f least goes: the least ‖c‖² k(x, x) (BSGD, section 4.1) |
//! | projection, projectron, projectron++ | see `projection` |
//! | merging | see `merging` |
//! | forgetron | all shrink by φ and the oldest goes (Forgetron, fig. 3) |
//!
//! The default is merging for a Gaussian kernel and removal for the others: merging is much better and as fast.
//!
//! BSGD: Wang, Crammer and Vucetic (2012), "Breaking the curse of kernelization", JMLR 13. Forgetron: Dekel,
//! Shalev-Shwartz and Singer (2008), "The Forgetron: a kernel-based perceptron on a budget", SIAM J. Comput. 37(5).

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::parameter::Arguments;

use super::expansion::Expansion;
use super::kernels::Kernel;
use crate::linear_algebra::GrowingCholesky;

pub const CHOICES: &[&str] =
    &["auto", "removal", "projection", "merging", "forgetron", "projectron", "projectron++"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Maintenance {
    Removal,
    Projection,
    Merging,
    Forgetron,
    Projectron { tolerance: f64, plus: bool },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MaintenanceState {
    /// Number of admitted points: the Forgetron's mistakes M.
    admitted: f64,
    /// The Forgetron's Q: the cost of removals so far.
    cost: f64,
    /// Of the Gram matrix of the points, where points are projected.
    #[serde(default)]
    pub factor: GrowingCholesky,
}

impl Maintenance {
    pub fn new(arguments: &Arguments<'_>, kernel: &Kernel, for_classes: bool) -> Result<Self> {
        let refuse = |choice: &str, needs: &str| {
            Err(Fault::value(format!("{}: maintenance '{choice}' needs {needs}", arguments.who)))
        };
        match arguments.text("maintenance")? {
            "merging" if !matches!(kernel, Kernel::Rbf { .. }) => refuse("merging", "kernel.RBF"),
            choice @ ("forgetron" | "projectron++") if !for_classes => refuse(choice, "a classification loss"),
            "auto" if matches!(kernel, Kernel::Rbf { .. }) => Ok(Maintenance::Merging),
            "auto" | "removal" => Ok(Maintenance::Removal),
            "projection" => Ok(Maintenance::Projection),
            "merging" => Ok(Maintenance::Merging),
            "forgetron" => Ok(Maintenance::Forgetron),
            choice @ ("projectron" | "projectron++") => Ok(Maintenance::Projectron {
                tolerance: arguments.float("tolerance")?,
                plus: choice.ends_with('+'),
            }),
            _ => Err(arguments.absent("maintenance")),
        }
    }

    /// Whether the factor of the Gram matrix is kept; an unbounded budget needs no projection.
    fn projects(&self, bounded: bool) -> bool {
        matches!(self, Maintenance::Projectron { .. }) || (bounded && *self == Maintenance::Projection)
    }
}

impl MaintenanceState {
    pub fn validate(&self, who: &str, maintenance: &Maintenance, bounded: bool, points: usize) -> Result<()> {
        let sound = |number: f64| number.is_finite() && number >= 0.0;
        require(who, sound(self.admitted) && self.cost.is_finite(), "a count is not finite")?;
        self.factor.validate(who, if maintenance.projects(bounded) { points } else { 0 })
    }
}

impl Expansion {
    /// Admit the new point with the coefficients in `work.step`, after the decay of all others.
    pub fn admit(&mut self) -> Result<()> {
        let full = self.budget.is_some_and(|budget| self.state.dictionary.len() >= budget);
        match self.maintenance {
            Maintenance::Projectron { tolerance, plus } => self.projectron(full, tolerance, plus)?,
            Maintenance::Projection if self.budget.is_some() => self.project(full)?,
            _ if !full => self.push(),
            Maintenance::Projection => self.push(),
            Maintenance::Removal => self.remove(),
            Maintenance::Merging => self.merge(),
            Maintenance::Forgetron => self.forget(),
        }
        self.state.maintenance.admitted += 1.0;
        Ok(())
    }

    /// Add the new point.
    pub fn push(&mut self) {
        let (state, work) = (&mut self.state, &self.work);
        state.fade(work.decay);
        state.dictionary.push(&work.x, work.itself);
        state.born.push(state.t + 1.0);
        state.coefficients.iter_mut().zip(&work.step).for_each(|(of, &step)| of.push(step));
    }

    /// Replace a point by the new one.
    pub fn replace(&mut self, index: usize) {
        let (state, work) = (&mut self.state, &self.work);
        state.dictionary.write(index, &work.x, work.itself);
        state.born[index] = state.t + 1.0;
        state.coefficients.iter_mut().zip(&work.step).for_each(|(of, &step)| of[index] = step);
    }

    /// The point with the smallest contribution, the oldest among equals; None for the new one.
    pub fn least(&self) -> Option<usize> {
        let (state, work) = (&self.state, &self.work);
        let mut found = None;
        let mut least = (work.step.iter().map(|step| step * step).sum::<f64>() * work.itself, state.t + 1.0);
        for (index, (&norm, &born)) in state.dictionary.norms.iter().zip(&state.born).enumerate() {
            let size = (work.decay * work.decay * state.square(index) * norm, born);
            if size < least {
                (found, least) = (Some(index), size);
            }
        }
        found
    }

    fn remove(&mut self) {
        let index = self.least();
        self.state.fade(self.work.decay);
        if let Some(index) = index {
            self.replace(index);
        }
    }

    /// Shrink all and drop the oldest. φ is the largest in (0, 1] for which Q + Ψ ≤ (15/32) M, where
    /// Ψ = (φσ)² + 2 φσ − 2 φσ · φμ bounds what removing a point of weight φσ costs when its margin is φμ. It is
    /// found in units of the rate, so that it is the paper's with any constant rate; with several outputs σ and μ are
    /// those of the two classes that the point tells apart, each of which took half of its step.
    fn forget(&mut self) {
        let Expansion { kernel, state, work, .. } = self;
        state.fade(work.decay);
        let Some(oldest) = (0..state.born.len()).min_by(|&a, &b| state.born[a].total_cmp(&state.born[b])) else {
            return;
        };
        state.dictionary.points.read(oldest, &mut work.point);
        kernel.row(&state.dictionary.points, &work.point, &mut work.other_row);
        let mut product = 0.0;
        for (of, step) in state.coefficients.iter().zip(&work.step) {
            let f = crate::numeric::dot(of, &work.other_row);
            product += of[oldest] * (f + step * work.row[oldest]);
        }
        let halves = if state.coefficients.len() > 1 { 2.0 } else { 1.0 };
        let unit = work.rate * work.rate;
        let (square, product) = (halves * state.square(oldest) / unit, halves * product / unit);
        let MaintenanceState { admitted, cost, .. } = &mut state.maintenance;
        let (factor, psi) = shrinkage(square, product, 15.0 / 32.0 * (*admitted + 1.0) - *cost);
        if psi.is_finite() {
            *cost += psi;
        }
        state.fade(factor);
        work.step.iter_mut().for_each(|step| *step *= factor);
        self.replace(oldest);
    }
}

/// (φ, Ψ) for σ², σμ and the room left under (15/32) M.
fn shrinkage(square: f64, product: f64, room: f64) -> (f64, f64) {
    let (a, b) = (square - 2.0 * product, 2.0 * square.sqrt());
    let factor = match a + b <= room {
        true => 1.0,
        // The smaller positive root of a φ² + b φ = room, in the form that is sound for every sign of a.
        false => (2.0 * room / (b + (b * b + 4.0 * a * room).max(0.0).sqrt())).clamp(0.0, 1.0),
    };
    (factor, a * factor * factor + b * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// σ = 1, μ = −1/2: Ψ(φ) = φ² + 2 φ + φ² = 2 φ² + 2 φ. With room 3/2 it is used up at φ = 1/2: 1/2 + 1.
    /// With room 5 nothing shrinks, and 4 is used. With μ = 1, Ψ = 2 φ − φ², and room 3/4 gives φ = 1/2 again.
    #[test]
    fn the_forgetron_shrinks_by_hand() {
        assert_eq!(shrinkage(1.0, -0.5, 1.5), (0.5, 1.5));
        assert_eq!(shrinkage(1.0, -0.5, 5.0), (1.0, 4.0));
        assert_eq!(shrinkage(1.0, 1.0, 0.75), (0.5, 0.75));
    }
}
