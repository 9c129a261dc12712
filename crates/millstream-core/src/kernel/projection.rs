//! Points that are projected onto the span of the others instead of being stored or dropped.
//!
//! * projection (Wang, Crammer and Vucetic, 2012, section 4.2): when the budget is full, the one of the B + 1 points that
//!   matters least goes, and the others take over its projection on their span, Δc = c K⁻¹k.
//! * projectron (Orabona, Keshet and Caputo, 2009, "Bounded kernel-based online learning", JMLR 10, algorithm 2): a new
//!   point whose squared distance from the span is at most `tolerance` of its length is never kept but projected; when
//!   the budget is full, every new point is.
//! * projectron++ (algorithm 3): as that, but an example that is right and costs something all the same is only
//!   learned as far as projecting it can help: with the squared distance δ² and η² = tolerance · k(x, x), if ℓ > δ/η,
//!   by the fraction min(1, ℓ / |Pk|², 2 (ℓ − δ/η) / |Pk|²) of a step, and not at all otherwise.
//!
//! With losses.Hinge(margin=0) and rate 1 the steps of projectron are those of the paper, with losses.Hinge() those
//! of projectron++; other losses follow the same rule with their own slope. Where the paper's bound needs no budget,
//! `budget=None` leaves the number of points to the tolerance.

use crate::fault::{Fault, Result};

use super::expansion::Expansion;
use crate::linear_algebra::growing_cholesky::LEAST_FRACTION;

impl Expansion {
    /// u = L⁻¹k of the new point into `work.numbers`; gives its squared distance from the span of the others, and
    /// whether that exceeds rounding error and a fraction of its length.
    fn distance(&mut self, fraction: f64) -> (f64, bool) {
        let (work, factor) = (&mut self.work, &self.state.maintenance.factor);
        let distance = factor.forward(&work.row, work.itself, &mut work.numbers);
        (distance, distance > fraction.max(LEAST_FRACTION) * work.itself.abs())
    }

    /// Add the new point's projection to the others, which is L⁻ᵀ of `work.numbers`.
    fn hand_over(&mut self) -> Result<()> {
        let Expansion { state, work, .. } = self;
        state.maintenance.factor.backward(&mut work.numbers);
        let handed = |coefficient: f64, a: f64, step: f64| work.decay * coefficient + step * a;
        for (of, &step) in state.coefficients.iter().zip(&work.step) {
            for (&index, &a) in state.maintenance.factor.indices.iter().zip(&work.numbers) {
                if !handed(of[index as usize], a, step).is_finite() {
                    return Err(Fault::overflow(self.who));
                }
            }
        }
        for (of, &step) in state.coefficients.iter_mut().zip(&work.step) {
            for (&index, &a) in state.maintenance.factor.indices.iter().zip(&work.numbers) {
                of[index as usize] = handed(of[index as usize], a, step);
            }
        }
        Ok(())
    }

    /// Keep the new point, whose u is in `work.numbers`.
    fn keep(&mut self, distance: f64) -> Result<()> {
        let index = self.state.dictionary.len();
        self.state.maintenance.factor.push(index, &self.work.numbers, distance);
        if !self.state.maintenance.factor.finite_last() {
            self.state.maintenance.factor.pop();
            return Err(Fault::overflow(self.who));
        }
        self.push();
        Ok(())
    }

    pub fn projectron(&mut self, full: bool, tolerance: f64, plus: bool) -> Result<()> {
        let (distance, apart) = self.distance(tolerance);
        let work = &mut self.work;
        if plus && work.margin > 0.0 {
            let projected = (work.itself - distance).max(0.0) * work.rate;
            let eta = (tolerance.max(LEAST_FRACTION) * work.itself.abs()).sqrt();
            let gain = work.loss - distance.max(0.0).sqrt() / eta;
            let fraction = (work.loss / projected).min(2.0 * gain / projected).min(1.0);
            if !(gain > 0.0 && fraction > 0.0) {
                self.state.fade(self.work.decay);
                return Ok(());
            }
            work.step.iter_mut().for_each(|step| *step *= fraction);
            return self.hand_over();
        }
        match apart && !full {
            true => self.keep(distance),
            false => self.hand_over(),
        }
    }

    pub fn project(&mut self, full: bool) -> Result<()> {
        let (distance, apart) = self.distance(0.0);
        if !apart {
            return self.hand_over();
        }
        if !full {
            return self.keep(distance);
        }
        let Some(gone) = self.least() else { return self.hand_over() };
        // The factor of the others and the new point, which takes the place of the one that goes.
        let Expansion { who, kernel, state, work, .. } = self;
        work.factor.copy_from(&state.maintenance.factor);
        work.factor.remove(gone, &mut work.turns);
        let distance = work.factor.forward(&work.row, work.itself, &mut work.numbers);
        work.factor.push(gone, &work.numbers, distance);
        if !work.factor.finite_last() {
            return Err(Fault::overflow(who));
        }
        // The kernel values of the one that goes, with the new point's in its place.
        state.dictionary.points.read(gone, &mut work.point);
        kernel.row(&state.dictionary.points, &work.point, &mut work.other_row);
        work.other_row[gone] = work.row[gone];
        work.factor.forward(&work.other_row, 0.0, &mut work.numbers);
        work.factor.backward(&mut work.numbers);
        // In the place that becomes the new point's, its coefficient.
        let handed = |of: &[f64], step: f64, index: usize, a: f64| {
            let own = if index == gone { step } else { work.decay * of[index] };
            own + work.decay * of[gone] * a
        };
        for (of, &step) in state.coefficients.iter().zip(&work.step) {
            for (&index, &a) in work.factor.indices.iter().zip(&work.numbers) {
                if !handed(of, step, index as usize, a).is_finite() {
                    return Err(Fault::overflow(who));
                }
            }
        }
        for (of, step) in state.coefficients.iter_mut().zip(&mut work.step) {
            // The one at `gone` is the last row of the factor, so the others are done before it is overwritten.
            for (&index, &a) in work.factor.indices.iter().zip(&work.numbers) {
                let new = handed(of, *step, index as usize, a);
                of[index as usize] = new;
            }
        }
        let (state, work) = (&mut self.state, &mut self.work);
        state.maintenance.factor.copy_from(&work.factor);
        state.dictionary.write(gone, &work.x, work.itself);
        state.born[gone] = state.t + 1.0;
        Ok(())
    }
}
