//! The incremental risk functional (Buschermöhle and others, 2013, eq. 4) of a network, and its minimum.
//!
//! ```text
//! R(θ) = λ/2 (1/n Σᵢ (f(zᵢ, θ) − f(zᵢ, θₜ))² + η |θ − θₜ|²) + w/2 (y − f(x, θ))²
//! ```
//! The integral over Ω is a mean over fixed points zᵢ. With parameters that enter nonlinearly, many changes are
//! equivalent; η selects the smallest. Each inner step linearises f at the current parameters (Gauss-Newton) and solves
//!
//! ```text
//! (λ (JᵀJ/n + η I) + w g gᵀ + ν I) δ = −λ (Jᵀr/n + η (θ − θₜ)) + w g (y − f(x, θ))
//! ```
//! with J the gradients at the zᵢ, r the changes there, g the gradient at x. ν is 0, and rises (Levenberg, 1944)
//! until R falls. Only decreases are accepted. As R(θₜ) = w/2 (y − f(x, θₜ))², the error at x is less after a step
//! than before: (12) of the paper holds here too.

use crate::linear_algebra::cholesky::{factorise, solve};
use crate::optim::Features;

use super::network::Network;

/// Maximum number of increases of ν before a step is abandoned.
const MOST_TRIES: usize = 8;
/// A decrease of R by a smaller fraction ends the inner steps.
const LEAST_FALL: f64 = 1e-3;

/// The constants of the functional.
#[derive(Clone, Copy, Debug)]
pub struct Functional {
    pub stiffness: f64,
    pub damping: f64,
    pub most_steps: usize,
    /// Number of points.
    pub samples: usize,
}

/// One example as a point of Ω.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    pub x: &'a [f64],
    pub y: f64,
    pub w: f64,
}

/// Buffers of a minimisation, and its result.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// θ after the step.
    pub next: Vec<f64>,
    trial: Vec<f64>,
    /// f(zᵢ, θₜ), and f(zᵢ, θ) of `next` and of `trial`.
    outputs: Vec<f64>,
    next_outputs: Vec<f64>,
    trial_outputs: Vec<f64>,
    activations: Vec<f64>,
    /// The a at all points for `next`, and for `trial`.
    next_layers: Vec<f64>,
    trial_layers: Vec<f64>,
    gradients: Vec<f64>,
    /// The lower triangle of the system, row after row, and its Cholesky factor.
    system: Vec<f64>,
    factor: Vec<f64>,
    right: Vec<f64>,
    delta: Vec<f64>,
}

impl Work {
    pub fn memory(&self) -> usize {
        let all = [
            &self.next,
            &self.trial,
            &self.outputs,
            &self.next_outputs,
            &self.trial_outputs,
            &self.activations,
            &self.next_layers,
            &self.trial_layers,
            &self.gradients,
            &self.system,
            &self.factor,
            &self.right,
            &self.delta,
        ];
        all.iter().map(|numbers| 8 * numbers.capacity()).sum()
    }
}

impl Functional {
    /// Write the parameters after an example to `work.next`. Returns f(x, θₜ), or None on overflow.
    pub fn minimise(
        &self,
        network: Network,
        parameters: &[f64],
        points: &[f64],
        example: Example<'_>,
        work: &mut Work,
    ) -> Option<f64> {
        let said = network.forward(parameters, Features::Dense(example.x), &mut work.activations);
        let mut error = example.y - said;
        let mut least = 0.5 * example.w * error * error;
        if !least.is_finite() {
            return None;
        }
        work.next.clear();
        work.next.extend_from_slice(parameters);
        through(
            network,
            parameters,
            points,
            self.samples,
            &mut work.outputs,
            &mut work.next_layers,
            &mut work.activations,
        );
        work.next_outputs.clone_from(&work.outputs);
        for _ in 0..self.most_steps {
            if least == 0.0 {
                break;
            }
            self.linearise(network, parameters, points, example, error, work);
            let before = least;
            let mut raise = 0.0;
            for _ in 0..MOST_TRIES {
                if let Some((risk, error_there)) = self.attempt(network, parameters, points, example, raise, work)
                {
                    if risk < least {
                        (least, error) = (risk, error_there);
                        std::mem::swap(&mut work.next, &mut work.trial);
                        std::mem::swap(&mut work.next_outputs, &mut work.trial_outputs);
                        std::mem::swap(&mut work.next_layers, &mut work.trial_layers);
                        break;
                    }
                }
                raise = if raise == 0.0 { 1e-3 * mean_diagonal(work) } else { 10.0 * raise };
            }
            if before - least <= LEAST_FALL * before {
                break;
            }
        }
        Some(said)
    }

    /// The system at `next`, where the error is `error`.
    fn linearise(
        &self,
        network: Network,
        parameters: &[f64],
        points: &[f64],
        example: Example<'_>,
        error: f64,
        work: &mut Work,
    ) {
        let (size, width, n) = (parameters.len(), example.x.len(), work.outputs.len());
        let fraction = self.stiffness / n as f64;
        work.gradients.resize(4 * size, 0.0);
        work.system.clear();
        work.system.resize(size * size, 0.0);
        work.right.clear();
        work.right.extend(
            work.next.iter().zip(parameters).map(|(next, now)| -self.stiffness * self.damping * (next - now)),
        );
        for start in (0..n).step_by(4) {
            let rows = work.gradients.chunks_exact_mut(size).zip(start..start + 4);
            for (row, i) in rows {
                if i >= n {
                    row.fill(0.0);
                    continue;
                }
                let layer = &work.next_layers[i * network.hidden..(i + 1) * network.hidden];
                network.gradient(&work.next, &points[i * width..(i + 1) * width], layer, row);
                let change = fraction * (work.next_outputs[i] - work.outputs[i]);
                if change != 0.0 {
                    work.right.iter_mut().zip(row).for_each(|(right, g)| *right -= change * *g);
                }
            }
            add_products(&work.gradients, size, &mut work.system);
        }
        network.forward(&work.next, Features::Dense(example.x), &mut work.activations);
        let gradient = &mut work.gradients[..size];
        network.gradient(&work.next, example.x, &work.activations, gradient);
        let (pull, damping) = (example.w * error, self.stiffness * self.damping);
        for (p, row) in work.system.chunks_exact_mut(size).enumerate() {
            let weighted = example.w * gradient[p];
            for (entry, g) in row[..=p].iter_mut().zip(gradient.iter()) {
                *entry = fraction * *entry + weighted * g;
            }
            row[p] += damping;
            work.right[p] += pull * gradient[p];
        }
    }

    /// R and the error at x after the solution of the system with `raise` on its diagonal; none if it has none.
    fn attempt(
        &self,
        network: Network,
        parameters: &[f64],
        points: &[f64],
        example: Example<'_>,
        raise: f64,
        work: &mut Work,
    ) -> Option<(f64, f64)> {
        work.factor.clone_from(&work.system);
        if !factorise(&mut work.factor, parameters.len(), raise) {
            return None;
        }
        work.delta.clone_from(&work.right);
        solve(&work.factor, &mut work.delta);
        work.trial.clear();
        work.trial.extend(work.next.iter().zip(&work.delta).map(|(next, delta)| next + delta));
        let n = work.outputs.len();
        let (outputs, layers) = (&mut work.trial_outputs, &mut work.trial_layers);
        through(network, &work.trial, points, n, outputs, layers, &mut work.activations);
        let change = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let error = example.y - network.forward(&work.trial, Features::Dense(example.x), &mut work.activations);
        let spread = change(&work.trial_outputs, &work.outputs) / n as f64;
        let moved = self.damping * change(&work.trial, parameters);
        Some((0.5 * (self.stiffness * (spread + moved) + example.w * error * error), error))
    }
}

fn mean_diagonal(work: &Work) -> f64 {
    let size = work.right.len();
    (0..size).map(|p| work.system[p * size + p]).sum::<f64>() / size as f64
}

/// f at all points, and the activations there.
fn through(
    network: Network,
    parameters: &[f64],
    points: &[f64],
    n: usize,
    outputs: &mut Vec<f64>,
    layers: &mut Vec<f64>,
    activations: &mut Vec<f64>,
) {
    let width = points.len() / n.max(1);
    outputs.clear();
    layers.clear();
    for i in 0..n {
        let point = &points[i * width..(i + 1) * width];
        outputs.push(network.forward(parameters, Features::Dense(point), activations));
        layers.extend_from_slice(activations);
    }
}

/// Add Σ rᵢ rᵢᵀ of four rows to the lower triangle of a square matrix of `size`.
fn add_products(rows: &[f64], size: usize, out: &mut [f64]) {
    let (a, rest) = rows.split_at(size);
    let (b, rest) = rest.split_at(size);
    let (c, d) = rest.split_at(size);
    for (p, out) in out.chunks_exact_mut(size).enumerate() {
        let (ap, bp, cp, dp) = (a[p], b[p], c[p], d[p]);
        let others = a.iter().zip(b).zip(c).zip(d);
        for (out, (((a, b), c), d)) in out[..=p].iter_mut().zip(others) {
            *out += (ap * a + bp * b) + (cp * c + dp * d);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One unit and no feature: f = c + v tanh(b) with c = v = 0 and tanh(b) = 1/2. There is one point, so J = g =
    /// (1, 1/2, 0), |g|² = 5/4. With y = w = λ = 1 and η = 1/2 the system is (2 g gᵀ + 1/2 I) δ = g, solved by δ = α g
    /// with (2 · 5/4 + 1/2) α = 1, α = 1/3: c = 1/3, v = 1/6, b as it was, and f = 1/3 + 1/12 = 5/12.
    #[test]
    fn one_step_by_hand() {
        let network = Network { hidden: 1, seed: 0 };
        let parameters = [0.0, 0.0, 0.5f64.atanh()];
        let functional = Functional { stiffness: 1.0, damping: 0.5, most_steps: 1, samples: 1 };
        let mut work = Work::default();
        let example = Example { x: &[], y: 1.0, w: 1.0 };
        assert_eq!(functional.minimise(network, &parameters, &[], example, &mut work), Some(0.0));
        for (got, wanted) in work.next.iter().zip([1.0 / 3.0, 1.0 / 6.0, parameters[2]]) {
            assert!((got - wanted).abs() < 1e-15, "{:?}", work.next);
        }
        let mut layer = Vec::new();
        let said = network.forward(&work.next, Features::Dense(&[]), &mut layer);
        assert!((said - 5.0 / 12.0).abs() < 1e-15);
    }

    /// The gradient of R vanishes where the minimisation ends, by finite differences of R itself.
    #[test]
    fn the_minimum_is_one() {
        let network = Network { hidden: 3, seed: 1 };
        let mut parameters = Vec::new();
        network.begin(1, &mut parameters);
        parameters[1] = 0.7;
        parameters[2] = -0.4;
        let points: Vec<f64> = (0..40).map(|i| f64::from(i) / 20.0 - 1.0).collect();
        let functional = Functional { stiffness: 0.5, damping: 1e-2, most_steps: 200, samples: 40 };
        let example = Example { x: &[0.3], y: 1.0, w: 2.0 };
        let mut work = Work::default();
        let mut layer = Vec::new();
        let said = functional.minimise(network, &parameters, &points, example, &mut work).unwrap();
        let before = work.outputs.clone();
        let mut risk = |theta: &[f64]| {
            let at = |x: &[f64], layer: &mut Vec<f64>| network.forward(theta, Features::Dense(x), layer);
            let spread: f64 =
                points.chunks(1).zip(&before).map(|(z, f)| (at(z, &mut layer) - f).powi(2)).sum::<f64>() / 40.0;
            let moved: f64 = theta.iter().zip(&parameters).map(|(a, b)| (a - b).powi(2)).sum();
            let error = 1.0 - at(&[0.3], &mut layer);
            0.5 * 0.5 * (spread + 1e-2 * moved) + error * error
        };
        let least = risk(&work.next);
        assert!(least < risk(&parameters) && (risk(&parameters) - (1.0 - said).powi(2)).abs() < 1e-15);
        // LEAST_FALL ends the steps near the minimum, not at it: nowhere near is R lower by more than that.
        for index in 0..parameters.len() {
            for h in [-1e-2, 1e-2] {
                let mut near = work.next.clone();
                near[index] += h;
                assert!(risk(&near) > least * (1.0 - 2.0 * LEAST_FALL), "{index}");
            }
        }
    }
}
