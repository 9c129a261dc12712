//! One step of one coordinate: each optimiser as the rule of its paper.
//!
//! A coordinate is a weight `w` and at most two numbers of memory, `a` and `b`. `g` is the gradient, `rate`
//! the learning rate η of this step. Rules are written without branches, so that the kernel that applies
//! them to a dense row runs in vector registers.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoordinateRule {
    Sgd,
    Momentum { rho: f64 },
    Nesterov { rho: f64 },
    AdaGrad { epsilon: f64 },
    AdaDelta { rho: f64, epsilon: f64 },
    RmsProp { rho: f64, epsilon: f64 },
    Adam { beta_1: f64, beta_2: f64, epsilon: f64 },
    FtrlProximal { alpha: f64, beta: f64, l1: f64, l2: f64 },
}

impl CoordinateRule {
    /// Number of memory values per coordinate.
    pub fn memory(&self) -> usize {
        match self {
            CoordinateRule::Sgd => Sgd::MEMORY,
            CoordinateRule::Momentum { .. } => Momentum::MEMORY,
            CoordinateRule::Nesterov { .. } => Nesterov::MEMORY,
            CoordinateRule::AdaGrad { .. } => AdaGrad::MEMORY,
            CoordinateRule::AdaDelta { .. } => AdaDelta::MEMORY,
            CoordinateRule::RmsProp { .. } => RmsProp::MEMORY,
            CoordinateRule::Adam { .. } => Adam::MEMORY,
            CoordinateRule::FtrlProximal { .. } => FtrlProximal::MEMORY,
        }
    }

    /// Whether `a` and `b` are sums of squares, which are never negative.
    pub fn squares(&self) -> (bool, bool) {
        match self {
            CoordinateRule::Sgd | CoordinateRule::Momentum { .. } | CoordinateRule::Nesterov { .. } => {
                (false, false)
            }
            CoordinateRule::AdaGrad { .. } | CoordinateRule::RmsProp { .. } => (true, false),
            CoordinateRule::AdaDelta { .. } => (true, true),
            CoordinateRule::Adam { .. } | CoordinateRule::FtrlProximal { .. } => (false, true),
        }
    }

    /// Multiple of `a` that is subtracted from a weight to get the point at which the gradient is taken.
    pub fn look_ahead(&self) -> f64 {
        match *self {
            CoordinateRule::Nesterov { rho } => rho,
            _ => 0.0,
        }
    }
}

/// A weight with its memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub w: f64,
    pub a: f64,
    pub b: f64,
}

/// A rule with the constants of one step; the kernel is compiled for each rule.
pub trait Update: Copy {
    /// Number of memory values per coordinate.
    const MEMORY: usize;

    fn apply(&self, cell: Cell, g: f64) -> Cell;

    /// The weight at which the gradient is taken.
    #[inline(always)]
    fn point(&self, cell: Cell) -> f64 {
        cell.w
    }

    /// The effective learning rate of a coordinate after its step. The proximal step
    /// for l1 is as long as this, as in composite mirror descent (Duchi, Hazan and Singer, 2011, eq. 4).
    #[inline(always)]
    fn scale(&self, _stepped: Cell) -> f64 {
        1.0
    }
}

/// w ← w − η g (Robbins and Monro, 1951)
#[derive(Clone, Copy)]
pub struct Sgd {
    pub rate: f64,
}

impl Update for Sgd {
    const MEMORY: usize = 0;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        Cell { w: cell.w - self.rate * g, ..cell }
    }
}

/// a ← ρ a + η g, w ← w − a (Polyak, 1964)
#[derive(Clone, Copy)]
pub struct Momentum {
    pub rate: f64,
    pub rho: f64,
}

impl Update for Momentum {
    const MEMORY: usize = 1;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = self.rho * cell.a + self.rate * g;
        Cell { w: cell.w - a, a, ..cell }
    }
    #[inline(always)]
    fn scale(&self, _stepped: Cell) -> f64 {
        // A gradient moves the weight by η (1 + ρ + ρ² + …) in all.
        1.0 / (1.0 - self.rho)
    }
}

/// As `Momentum`, with the gradient taken at w − ρ a (Nesterov, 1983; Sutskever et al., 2013, eq. 3)
#[derive(Clone, Copy)]
pub struct Nesterov {
    pub rate: f64,
    pub rho: f64,
}

impl Update for Nesterov {
    const MEMORY: usize = 1;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = self.rho * cell.a + self.rate * g;
        Cell { w: cell.w - a, a, ..cell }
    }
    #[inline(always)]
    fn point(&self, cell: Cell) -> f64 {
        cell.w - self.rho * cell.a
    }
    #[inline(always)]
    fn scale(&self, _stepped: Cell) -> f64 {
        // A gradient moves the weight by η (1 + ρ + ρ² + …) in all.
        1.0 / (1.0 - self.rho)
    }
}

/// a ← a + g², w ← w − η g / √(a + ε) (Duchi, Hazan and Singer, 2011)
#[derive(Clone, Copy)]
pub struct AdaGrad {
    pub rate: f64,
    pub epsilon: f64,
}

impl Update for AdaGrad {
    const MEMORY: usize = 1;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = cell.a + g * g;
        Cell { w: cell.w - self.rate / (a + self.epsilon).sqrt() * g, a, ..cell }
    }
    #[inline(always)]
    fn scale(&self, stepped: Cell) -> f64 {
        1.0 / (stepped.a + self.epsilon).sqrt()
    }
}

/// a ← ρ a + (1 − ρ) g², Δ = −g √(b + ε) / √(a + ε), b ← ρ b + (1 − ρ) Δ², w ← w + Δ
/// (Zeiler, 2012, algorithm 1)
#[derive(Clone, Copy)]
pub struct AdaDelta {
    pub rho: f64,
    pub epsilon: f64,
}

impl Update for AdaDelta {
    const MEMORY: usize = 2;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = self.rho * cell.a + (1.0 - self.rho) * (g * g);
        let delta = (cell.b + self.epsilon).sqrt() / (a + self.epsilon).sqrt() * g;
        let b = self.rho * cell.b + (1.0 - self.rho) * (delta * delta);
        Cell { w: cell.w - delta, a, b }
    }
    #[inline(always)]
    fn scale(&self, stepped: Cell) -> f64 {
        (stepped.b + self.epsilon).sqrt() / (stepped.a + self.epsilon).sqrt()
    }
}

/// a ← ρ a + (1 − ρ) g², w ← w − η g / √(a + ε) (Tieleman and Hinton, 2012)
#[derive(Clone, Copy)]
pub struct RmsProp {
    pub rate: f64,
    pub rho: f64,
    pub epsilon: f64,
}

impl Update for RmsProp {
    const MEMORY: usize = 1;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = self.rho * cell.a + (1.0 - self.rho) * (g * g);
        Cell { w: cell.w - self.rate / (a + self.epsilon).sqrt() * g, a, ..cell }
    }
    #[inline(always)]
    fn scale(&self, stepped: Cell) -> f64 {
        1.0 / (stepped.a + self.epsilon).sqrt()
    }
}

/// a ← β₁ a + (1 − β₁) g, b ← β₂ b + (1 − β₂) g², w ← w − η c a / (√b + ε), with the bias correction
/// c = √(1 − β₂ᵗ) / (1 − β₁ᵗ) (Kingma and Ba, 2015, end of section 2)
#[derive(Clone, Copy)]
pub struct Adam {
    pub rate: f64,
    pub correction: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
}

impl Adam {
    pub fn at(t: f64, rate: f64, beta_1: f64, beta_2: f64, epsilon: f64) -> Self {
        let correction = (1.0 - beta_2.powf(t)).sqrt() / (1.0 - beta_1.powf(t));
        Adam { rate, correction, beta_1, beta_2, epsilon }
    }
}

impl Update for Adam {
    const MEMORY: usize = 2;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let a = self.beta_1 * cell.a + (1.0 - self.beta_1) * g;
        let b = self.beta_2 * cell.b + (1.0 - self.beta_2) * (g * g);
        Cell { w: cell.w - self.rate * self.correction * a / (b.sqrt() + self.epsilon), a, b }
    }
    #[inline(always)]
    fn scale(&self, stepped: Cell) -> f64 {
        self.correction / (stepped.b.sqrt() + self.epsilon)
    }
}

/// b' = b + g², a ← a + g − w (√b' − √b) / α, w = −(a − sign(a) λ₁) / ((β + √b') / α + λ₂), or 0 where
/// |a| ≤ λ₁ (McMahan et al., 2013, algorithm 1; a is its z, b its n)
///
/// The paper computes w from a and b when it is needed; here it is computed as soon as they change.
#[derive(Clone, Copy)]
pub struct FtrlProximal {
    pub alpha: f64,
    pub beta: f64,
    pub l1: f64,
    pub l2: f64,
}

impl Update for FtrlProximal {
    const MEMORY: usize = 2;
    #[inline(always)]
    fn apply(&self, cell: Cell, g: f64) -> Cell {
        let b = cell.b + g * g;
        let a = cell.a + g - (b.sqrt() - cell.b.sqrt()) / self.alpha * cell.w;
        Cell { w: shrunk(-a, self.l1) / ((self.beta + b.sqrt()) / self.alpha + self.l2), a, b }
    }
}

/// `number`, nearer to 0 by `threshold` or at 0. NaN stays NaN, for the check for overflow to find; `max`
/// would lose it.
#[inline(always)]
pub fn shrunk(number: f64, threshold: f64) -> f64 {
    let rest = number.abs() - threshold;
    if rest < 0.0 {
        0.0
    } else {
        rest.copysign(number)
    }
}

/// Penalties on the weights: l2 is added to the gradient, l1 is a proximal step (Duchi and Singer, 2009).
#[derive(Clone, Copy, Debug, Default)]
pub struct Penalty {
    pub l1: f64,
    pub l2: f64,
}

impl Penalty {
    #[inline]
    pub fn none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    /// Both penalties together.
    pub fn plus(self, other: Penalty) -> Penalty {
        Penalty { l1: self.l1 + other.l1, l2: self.l2 + other.l2 }
    }
}

/// One step: the `t`-th, down the gradient `slope` · x.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub t: f64,
    pub slope: f64,
    pub penalty: Penalty,
    /// Whether the proposal already contains the result of `Weights::fetch`.
    pub fetched: bool,
}

/// A step of one coordinate; one whose feature is 0 stays.
#[inline(always)]
pub fn one<U: Update, const PENALISED: bool>(update: U, rate: f64, cell: Cell, x: f64, step: Step) -> Cell {
    let mut g = step.slope * x;
    if PENALISED {
        g += step.penalty.l2 * update.point(cell);
    }
    let mut stepped = update.apply(cell, g);
    if PENALISED {
        let threshold = rate * step.penalty.l1 * update.scale(stepped);
        stepped.w = shrunk(stepped.w, threshold);
    }
    // Without memory and penalty a zero gradient already leaves the weight as it is.
    if (PENALISED || U::MEMORY > 0) && x == 0.0 {
        cell
    } else {
        stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(cell: Cell, w: f64, a: f64, b: f64) {
        for (got, wanted) in [(cell.w, w), (cell.a, a), (cell.b, b)] {
            assert!((got - wanted).abs() < 1e-14, "{cell:?} is not {w}, {a}, {b}");
        }
    }

    const CELL: Cell = Cell { w: 1.0, a: 0.0, b: 0.0 };

    #[test]
    fn sgd_by_hand() {
        // 1 − 0.1 · 2
        close(Sgd { rate: 0.1 }.apply(CELL, 2.0), 0.8, 0.0, 0.0);
    }

    #[test]
    fn momentum_by_hand() {
        // a = 0.9 · 0.5 + 0.1 · 2 = 0.65, w = 1 − 0.65
        close(Momentum { rate: 0.1, rho: 0.9 }.apply(Cell { a: 0.5, ..CELL }, 2.0), 0.35, 0.65, 0.0);
    }

    #[test]
    fn nesterov_by_hand() {
        let rule = Nesterov { rate: 0.1, rho: 0.9 };
        let cell = Cell { a: 0.5, ..CELL };
        // The gradient is taken at 1 − 0.9 · 0.5; the step is that of momentum.
        assert!((rule.point(cell) - 0.55).abs() < 1e-15);
        close(rule.apply(cell, 2.0), 0.35, 0.65, 0.0);
    }

    #[test]
    fn adagrad_by_hand() {
        let rule = AdaGrad { rate: 0.1, epsilon: 1.0 };
        // a = 11 + 2² = 15, w = 1 − 0.1 · 2 / √(15 + 1)
        let stepped = rule.apply(Cell { a: 11.0, ..CELL }, 2.0);
        close(stepped, 0.95, 15.0, 0.0);
        assert_eq!(rule.scale(stepped), 0.25);
    }

    #[test]
    fn adadelta_by_hand() {
        let rule = AdaDelta { rho: 0.5, epsilon: 1.0 };
        // a = 0.5 · 2 + 0.5 · 4 = 3, Δ = 2 · √(8 + 1) / √(3 + 1) = 3, b = 0.5 · 8 + 0.5 · 9 = 8.5
        close(rule.apply(Cell { w: 1.0, a: 2.0, b: 8.0 }, 2.0), -2.0, 3.0, 8.5);
    }

    #[test]
    fn rmsprop_by_hand() {
        // a = 0.5 · 2 + 0.5 · 4 = 3, w = 1 − 0.1 · 2 / √(3 + 1)
        let rule = RmsProp { rate: 0.1, rho: 0.5, epsilon: 1.0 };
        close(rule.apply(Cell { a: 2.0, ..CELL }, 2.0), 0.9, 3.0, 0.0);
    }

    #[test]
    fn adam_by_hand() {
        // a = 0.1 · 2 = 0.2, b = 0.001 · 4 = 0.004; c = √0.001 / 0.1; c a / √b = √0.001 · 2 / √0.004 = 1:
        // the first step is as long as the rate, whatever the gradient.
        close(Adam::at(1.0, 0.1, 0.9, 0.999, 0.0).apply(CELL, 2.0), 0.9, 0.2, 0.004);
    }

    #[test]
    fn ftrl_by_hand() {
        let rule = FtrlProximal { alpha: 0.5, beta: 1.0, l1: 1.0, l2: 2.0 };
        // b = 3², a = 0 + 3 − 0 = 3, w = −(3 − 1) / ((1 + 3) / 0.5 + 2) = −0.2
        let first = rule.apply(Cell { w: 0.0, a: 0.0, b: 0.0 }, 3.0);
        close(first, -0.2, 3.0, 9.0);
        // b = 9 + 16 = 25, σ = (5 − 3) / 0.5 = 4, a = 3 − 4 + 4 · 0.2 = −0.2, within λ₁: w = 0
        close(rule.apply(first, -4.0), 0.0, -0.2, 25.0);
    }
}
