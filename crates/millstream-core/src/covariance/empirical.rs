//! The empirical covariance matrix, and its inverse.
//!
//! While all rows are complete, they share one `Scatter`. From the first row with a missing or a new feature on, each pair
//! of features has the moments of the rows that have both (pairwise complete observations, as in pandas and River):
//! C = Σ w (x − mean_x)(y − mean_y) with means of these rows, updated as in `stats.Cov`.

use serde::{Deserialize, Serialize};

use super::estimator::check_width;
use super::scatter::{full, Scatter, Work};
use super::validity::{bound, check_products, check_weights};
use crate::covariance_estimator::CovarianceEstimator;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::linear_algebra::packed_triangle::triangle;
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;

pub const DDOF: Parameter = Parameter::new(
    "ddof",
    Kind::Integer { low: 0, high: 1_000_000 },
    DefaultValue::Integer(1),
    "delta degrees of freedom: the divisor is the total weight minus ddof",
);

pub static EMPIRICAL_COVARIANCE: Declaration = Declaration {
    name: "covariance.EmpiricalCovariance",
    role: Role::CovarianceEstimator,
    words: "Empirical covariance matrix",
    merge: Merge::EXACT,
    parameters: &[DDOF],
    build: |arguments| Ok(build("covariance.EmpiricalCovariance", arguments.integer("ddof")? as f64)),
};

pub static EMPIRICAL_PRECISION: Declaration = Declaration {
    name: "covariance.EmpiricalPrecision",
    role: Role::CovarianceEstimator,
    words: "Inverse of the empirical covariance matrix",
    merge: Merge::EXACT,
    parameters: &[DDOF],
    build: |arguments| Ok(build("covariance.EmpiricalPrecision", arguments.integer("ddof")? as f64)),
};

fn build(name: &'static str, ddof: f64) -> Built {
    let (state, work) = (State::default(), Work::default());
    Built::CovarianceEstimator(Box::new(Empirical { name, ddof, state, work }))
}

#[derive(Clone)]
struct Empirical {
    name: &'static str,
    ddof: f64,
    state: State,
    work: Work,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Empty once pairs have moments of their own.
    scatter: Scatter,
    pairs: Option<Pairwise>,
}

/// Moments of pairs of features, as a lower triangle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Pairwise {
    width: usize,
    pairs: Vec<Pair>,
}

/// The rows that have both features i and j ≤ i.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pair {
    weight: f64,
    /// Means of features i and j.
    means: (f64, f64),
    product: f64,
}

impl Pair {
    /// With the rows of another part; a negative weight removes it.
    fn combined(&self, b: &Pair) -> Pair {
        let weight = self.weight + b.weight;
        if self.weight <= 0.0 {
            return *b;
        }
        if weight <= 1e-12 * self.weight {
            return Pair::default();
        }
        let (dx, dy) = (b.means.0 - self.means.0, b.means.1 - self.means.1);
        let share = b.weight / weight;
        Pair {
            weight,
            means: (self.means.0 + dx * share, self.means.1 + dy * share),
            product: self.product + b.product + dx * dy * (self.weight / weight) * b.weight,
        }
    }

    fn is_finite(&self) -> bool {
        [self.weight, self.means.0, self.means.1, self.product].iter().all(|number| number.is_finite())
    }
}

impl Pairwise {
    fn of(scatter: &Scatter) -> Pairwise {
        let means = &scatter.means;
        let weight = scatter.weight;
        let mut pairs = Vec::with_capacity(scatter.sums.len());
        for i in 0..scatter.width() {
            for j in 0..=i {
                let product = scatter.sums[triangle(i) + j];
                pairs.push(Pair { weight, means: (means[i], means[j]), product });
            }
        }
        Pairwise { width: scatter.width(), pairs }
    }

    fn widen(&mut self, width: usize) {
        self.width = self.width.max(width);
        self.pairs.resize(triangle(self.width), Pair::default());
    }

    /// Add the row, or remove it with a negative weight; false if a moment would not be finite, and then nothing changes.
    fn add(&mut self, x: &[f64], w: f64) -> bool {
        let one = |i: usize, j: usize| Pair { weight: w, means: (x[i], x[j]), product: 0.0 };
        let finite = (0..x.len()).filter(|&i| !x[i].is_nan()).all(|i| {
            let next = self.pairs[triangle(i) + i].combined(&one(i, i));
            next.is_finite() && next.product < 1e300
        });
        if !finite {
            return false;
        }
        for i in (0..x.len()).filter(|&i| !x[i].is_nan()) {
            for j in (0..=i).filter(|&j| !x[j].is_nan()) {
                let pair = &mut self.pairs[triangle(i) + j];
                *pair = pair.combined(&one(i, j));
                if i == j {
                    pair.product = pair.product.max(0.0);
                }
            }
        }
        if w < 0.0 {
            self.limit_products();
        }
        true
    }
}

impl Pairwise {
    /// The differences of large sums may leave a product that is larger than the squares allow.
    fn limit_products(&mut self) {
        for i in 0..self.width {
            for j in 0..i {
                let bound = bound(self.pairs[triangle(i) + i].product, self.pairs[triangle(j) + j].product);
                let pair = &mut self.pairs[triangle(i) + j];
                pair.product = pair.product.clamp(-bound, bound);
            }
        }
    }
}

impl Empirical {
    /// The number of features.
    fn width(&self) -> usize {
        self.state.pairs.as_ref().map_or(self.state.scatter.width(), |pairs| pairs.width)
    }

    fn overflow(&self) -> Fault {
        Fault::overflow(self.name)
    }
}

impl Part for Empirical {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        state.scatter.validate(self.name)?;
        if let Some(Pairwise { width, pairs }) = &state.pairs {
            let sized = *width < 1 << 20 && pairs.len() == triangle(*width);
            require(self.name, sized, "pairs of the wrong length")?;
            let sound = |pair: &Pair| pair.is_finite() && pair.weight >= 0.0;
            require(self.name, pairs.iter().all(sound), "a moment is not finite")?;
            check_weights(self.name, *width, |i, j| pairs[triangle(i) + j].weight)?;
            check_products(self.name, *width, |i, j| pairs[triangle(i) + j].product)?;
            require(self.name, state.scatter.width() == 0, "moments of rows and of pairs")?;
        }
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let pairs = self.state.pairs.as_ref().map_or(0, |pairs| pairs.pairs.capacity());
        std::mem::size_of::<Self>()
            + self.state.scatter.memory()
            + self.work.memory()
            + pairs * std::mem::size_of::<Pair>()
    }
}

impl CovarianceEstimator for Empirical {
    fn update(&mut self, x: &[f64], w: f64) -> Result<()> {
        check_width(self.name, x.len())?;
        if x.is_empty() {
            return Ok(());
        }
        check_numbers(self.name, x, LARGEST)?;
        let State { scatter, pairs } = &mut self.state;
        let first = scatter.weight <= 0.0 && pairs.is_none();
        let complete = !x.iter().any(|x| x.is_nan());
        if pairs.is_none() && complete && (first || x.len() == scatter.width()) {
            if first {
                // The first row decides on the features.
                *scatter = Scatter::default();
                scatter.widen(&vec![0.0; x.len()]);
            }
            scatter.centre(x, &mut self.work);
            if !scatter.admits(w, &self.work) {
                return Err(self.overflow());
            }
            scatter.add(w, &mut self.work);
            return Ok(());
        }
        let width = x.len().max(self.width());
        match &mut self.state.pairs {
            Some(pairs) if pairs.width == width => match pairs.add(x, w) {
                true => Ok(()),
                false => Err(self.overflow()),
            },
            pairs => {
                let mut next = pairs.clone().unwrap_or_else(|| Pairwise::of(&self.state.scatter));
                next.widen(width);
                if !next.add(x, w) {
                    return Err(self.overflow());
                }
                self.state = State { scatter: Scatter::default(), pairs: Some(next) };
                Ok(())
            }
        }
    }

    fn invertible(&self) -> bool {
        true
    }

    fn revert(&mut self, x: &[f64], w: f64) -> Result<()> {
        let never = || Fault::value(format!("{}: cannot remove a row that was never added", self.name));
        let complete = !x.iter().any(|x| x.is_nan());
        match &mut self.state.pairs {
            None if complete && x.len() == self.state.scatter.width() => {
                self.state.scatter.remove(self.name, x, w, &mut self.work)
            }
            None => Err(never()),
            Some(pairs) => {
                let there: Vec<usize> = (0..x.len()).filter(|&i| !x[i].is_nan()).collect();
                let known = |i: usize, j: usize| {
                    i < pairs.width && pairs.pairs[triangle(i) + j].weight >= w * (1.0 - 1e-9)
                };
                if !there.iter().all(|&i| there.iter().take_while(|&&j| j <= i).all(|&j| known(i, j))) {
                    return Err(never());
                }
                match pairs.add(x, -w) {
                    true => Ok(()),
                    false => Err(Fault::overflow(self.name)),
                }
            }
        }
    }

    fn means(&self) -> Vec<f64> {
        match &self.state.pairs {
            Some(Pairwise { width, pairs }) => (0..*width)
                .map(|i| &pairs[triangle(i) + i])
                .map(|pair| if pair.weight > 0.0 { pair.means.0 } else { f64::NAN })
                .collect(),
            None => self.state.scatter.means.clone(),
        }
    }

    fn covariance(&self) -> Vec<f64> {
        let divided = |sum: f64, weight: f64| match weight > self.ddof {
            true => sum / (weight - self.ddof),
            false => f64::NAN,
        };
        match &self.state.pairs {
            Some(Pairwise { width, pairs }) => full(*width, |i, j| {
                let pair = &pairs[triangle(i) + j];
                divided(pair.product, pair.weight)
            }),
            None => {
                let Scatter { weight, sums, .. } = &self.state.scatter;
                full(self.width(), |i, j| divided(sums[triangle(i) + j], *weight))
            }
        }
    }

    fn width(&self) -> usize {
        Empirical::width(self)
    }

    fn merge(&mut self, other: &[u8], slots: &[usize], width: usize) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        if theirs.width() == 0 {
            return Ok(());
        }
        if self.width() == 0 && slots.iter().enumerate().all(|(i, &slot)| i == slot) {
            self.state = theirs.state;
            return Ok(());
        }
        let mut state = self.state.clone();
        let same = self.width() == width && theirs.width() == width;
        match (&state.pairs, &theirs.state.pairs) {
            (None, None) if same => {
                state.scatter.merge(&theirs.state.scatter.permuted(slots), &mut self.work);
                if !state.scatter.is_finite() {
                    return Err(self.overflow());
                }
            }
            _ => {
                let moments = |state: &State| state.pairs.clone().unwrap_or_else(|| Pairwise::of(&state.scatter));
                let (mut ours, theirs) = (moments(&state), moments(&theirs.state));
                ours.widen(width);
                for (i, &a) in slots.iter().enumerate().take(theirs.width) {
                    for (j, &b) in slots.iter().enumerate().take(i + 1) {
                        let mut pair = theirs.pairs[triangle(i) + j];
                        if a < b {
                            pair.means = (pair.means.1, pair.means.0);
                        }
                        if pair.weight > 0.0 {
                            let here = &mut ours.pairs[triangle(a.max(b)) + a.min(b)];
                            *here = here.combined(&pair);
                            if !here.is_finite() {
                                return Err(self.overflow());
                            }
                        }
                    }
                }
                state = State { scatter: Scatter::default(), pairs: Some(ours) };
            }
        }
        self.state = state;
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn CovarianceEstimator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empirical() -> Empirical {
        let (state, work) = (State::default(), Work::default());
        Empirical { name: "covariance.Test", ddof: 1.0, state, work }
    }

    #[test]
    fn worked_by_hand() {
        // (1, 2), (2, 6), (6, 4): squares 14 and 8, products 2, divided by 2.
        let mut estimator = empirical();
        for x in [[1.0, 2.0], [2.0, 6.0], [6.0, 4.0]] {
            estimator.update(&x, 1.0).expect("a good row");
        }
        let near = |a: &[f64], b: [f64; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        assert!(near(&estimator.covariance(), [7.0, 1.0, 1.0, 4.0]));
        // The pair has the moments of the rows with both: (9, missing) changes the first variance alone. Of 1, 2, 6, 9 the
        // mean is 4.5, squares 12.25 + 6.25 + 2.25 + 20.25 = 41, divided by 3.
        estimator.update(&[9.0, f64::NAN], 1.0).expect("a good row");
        assert!(near(&estimator.covariance(), [41.0 / 3.0, 1.0, 1.0, 4.0]));
    }

    #[test]
    fn an_impossible_state_is_refused() {
        let mut estimator = empirical();
        for x in [[1.0, 2.0], [2.0, 6.0], [6.0, f64::NAN], [0.0, 1.0]] {
            estimator.update(&x, 1.0).expect("a good row");
        }
        let load = |change: &dyn Fn(&mut Pairwise)| {
            let mut state = estimator.state.clone();
            change(state.pairs.as_mut().expect("a row was not complete"));
            empirical().load(&pack(&state).expect("a state"))
        };
        assert!(load(&|_| {}).is_ok());
        assert!(load(&|pairs| pairs.pairs[1].product *= 100.0).is_err());
        assert!(load(&|pairs| pairs.pairs[2].product = -1.0).is_err());
        assert!(load(&|pairs| pairs.pairs[1].weight = 100.0).is_err());
        assert!(load(&|pairs| pairs.pairs[1].weight = -1.0).is_err());
        assert!(load(&|pairs| pairs.pairs[0].means.0 = f64::INFINITY).is_err());
        let mut complete = empirical();
        for x in [[1.0, 2.0], [2.0, 6.0]] {
            complete.update(&x, 1.0).expect("a good row");
        }
        complete.state.scatter.sums[1] = 100.0;
        assert!(empirical().load(&complete.save().expect("a state")).is_err());
    }
}
