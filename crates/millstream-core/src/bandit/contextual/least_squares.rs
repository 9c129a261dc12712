//! Ridge regression of the reward, exact after every round: the model of `LinUCB` (Li, Chu, Langford and Schapire, 2010,
//! "A contextual-bandit approach to personalized news article recommendation", algorithms 1 and 2) and of `LinThompson`.
//!
//! With A = λ I + Σ w x xᵀ, the state is P = A⁻¹ and θ = P Σ w r x. A reward r at x of weight w is one rank-one step
//! (Sherman and Morrison), with k = P x, s = xᵀ k and g = w / (1 + w s):
//! ```text
//! θ ← θ + g k (r − θᵀ x),    P ← P − g k kᵀ
//! ```
//! Actions without features have a block each: x is the context with a constant. Actions with features share one block:
//! x = s ⊗ a, the products of context and action, both with a constant. The quadratic forms of all K actions of a round
//! need one pass over P: B = (I ⊗ s)ᵀ P (I ⊗ s) is as small as an action, and xᵀ P x = aᵀ B a.
//!
//! A feature that a block has not met has its prior: weight 0, and 1 / λ on the diagonal of P.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::numeric::dot;
use crate::row::all_finite;

use super::round::{Round, Space, Spaces, View};

/// P and θ over so many coordinates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    pub p: Vec<f64>,
    pub theta: Vec<f64>,
}

/// The number of rows that change together in a step, so that k stays in the cache.
const ROWS: usize = 4;

impl Block {
    fn len(&self) -> usize {
        self.theta.len()
    }

    fn row(&self, row: usize) -> &[f64] {
        let n = self.len();
        &self.p[row * n..(row + 1) * n]
    }

    /// Move coordinate i to `place(i)` of `n`; the others have the prior.
    fn spread(&mut self, n: usize, prior: f64, place: impl Fn(usize) -> usize) {
        let mut next = Block { p: vec![0.0; n * n], theta: vec![0.0; n] };
        for index in 0..n {
            next.p[index * n + index] = prior;
        }
        for row in 0..self.len() {
            let to = place(row);
            next.theta[to] = self.theta[row];
            for (column, &value) in self.row(row).iter().enumerate() {
                next.p[to * n + place(column)] = value;
            }
        }
        *self = next;
    }

    /// The step, where `k` = P x and `error` = r − θᵀ x; false, and no change, if a number would overflow.
    fn step(&mut self, k: &[f64], s: f64, error: f64, w: f64, spare: &mut Vec<f64>) -> bool {
        let gain = w / (1.0 + w * s);
        spare.clear();
        spare.extend(self.theta.iter().zip(k).map(|(theta, k)| theta + gain * error * k));
        // |g k kᵀ| is at most P where P is positive, so P cannot overflow if k is finite.
        if !(all_finite(spare) && all_finite(k) && s.is_finite() && gain.is_finite()) {
            return false;
        }
        std::mem::swap(&mut self.theta, spare);
        let n = k.len();
        for (rows, factors) in self.p.chunks_mut(ROWS * n).zip(k.chunks(ROWS)) {
            for (row, factor) in rows.chunks_exact_mut(n).zip(factors) {
                let factor = gain * factor;
                for (p, k) in row.iter_mut().zip(k) {
                    *p -= factor * k;
                }
            }
        }
        // A variance that is 0 up to rounding must not become negative.
        for index in 0..n {
            let variance = &mut self.p[index * n + index];
            *variance = variance.max(0.0);
        }
        true
    }

    fn validate(&self, who: &str) -> Result<()> {
        let n = self.len();
        require(who, n.checked_mul(n) == Some(self.p.len()), "a matrix has another size than its weights")?;
        require(who, all_finite(&self.p) && all_finite(&self.theta), "a number is not finite")?;
        require(who, (0..n).all(|row| self.p[row * n + row] >= 0.0), "a variance is negative")
    }

    fn memory(&self) -> usize {
        (self.p.capacity() + self.theta.capacity()) * 8
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// By label.
    pub arms: Vec<Block>,
    pub joint: Block,
    /// The widths of the two factors of the joint block.
    pub shared: usize,
    pub action: usize,
}

#[derive(Clone, Debug)]
pub struct LeastSquares {
    who: String,
    l2: f64,
    /// The most coordinates of the joint block, and the square root of the most numbers of all arms.
    most: usize,
    state: State,
    buffers: Buffers,
}

#[derive(Clone, Debug, Default)]
struct Buffers {
    s: Vec<f64>,
    x: Vec<f64>,
    k: Vec<f64>,
    theta: Vec<f64>,
}

/// What is known of the rewards of the actions of a round.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    pub mean: Vec<f64>,
    /// xᵀ P x.
    pub variance: Vec<f64>,
    /// K × K, if asked for.
    pub covariance: Vec<f64>,
    s: Vec<f64>,
    used: Vec<u32>,
    places: Vec<u32>,
    u: Vec<f64>,
    b: Vec<f64>,
    dense: Vec<f64>,
}

/// The context with its constant as a dense vector; true if a feature has no place in it.
fn spread(shared: View<'_>, width: usize, out: &mut Vec<f64>) -> f64 {
    out.clear();
    out.resize(width, 0.0);
    if let Some(constant) = out.first_mut() {
        *constant = 1.0;
    }
    // The sum of squares of features without a place.
    let mut beyond = if width == 0 { 1.0 } else { 0.0 };
    for (slot, value) in shared.iter() {
        match out.get_mut(slot) {
            Some(place) => *place += value,
            None => beyond += value * value,
        }
    }
    beyond
}

impl LeastSquares {
    pub fn new(who: &str, l2: f64, most: usize) -> Self {
        LeastSquares { who: who.into(), l2, most, state: State::default(), buffers: Buffers::default() }
    }

    /// The mean and the variance of each action's reward.
    pub fn estimate(&self, round: &Round, covariance: bool, out: &mut Estimates) {
        out.mean.clear();
        out.variance.clear();
        out.covariance.clear();
        match round.has_features() {
            true => self.estimate_joint(round, covariance, out),
            false => self.estimate_arms(round, covariance, out),
        }
    }

    fn estimate_arms(&self, round: &Round, covariance: bool, out: &mut Estimates) {
        let prior = 1.0 / self.l2;
        let none = Block::default();
        let mut beyond = spread(round.shared.view(), 0, &mut out.s);
        for &arm in &round.arms {
            let block = self.state.arms.get(arm as usize - 1).unwrap_or(&none);
            if block.len() != out.s.len() {
                beyond = spread(round.shared.view(), block.len(), &mut out.s);
            }
            out.mean.push(dot(&block.theta, &out.s));
            let form: f64 = out.s.iter().enumerate().map(|(row, s)| s * dot(block.row(row), &out.s)).sum();
            out.variance.push(form.max(0.0) + beyond * prior);
        }
        if covariance {
            let n = round.len();
            out.covariance.resize(n * n, 0.0);
            for (index, variance) in out.variance.iter().enumerate() {
                out.covariance[index * n + index] = *variance;
            }
        }
    }

    fn estimate_joint(&self, round: &Round, covariance: bool, out: &mut Estimates) {
        let Estimates { mean, variance, covariance: all, s, used, places, u, b, dense } = out;
        let State { joint, shared, action, .. } = &self.state;
        let (shared, action) = (*shared, *action);
        let prior = 1.0 / self.l2;
        let context_beyond = spread(round.shared.view(), shared, s);
        let context = dot(s, s);
        // The known features of all actions, and where each is among them.
        const UNUSED: u32 = u32::MAX;
        used.clear();
        places.clear();
        places.resize(action, UNUSED);
        let constant = (action > 0).then_some(0);
        for &slot in constant.iter().chain(&round.features.slots) {
            if let Some(place) = places.get_mut(slot as usize).filter(|place| **place == UNUSED) {
                *place = used.len() as u32;
                used.push(slot);
            }
        }
        let m = used.len();
        // u = (I ⊗ s)ᵀ θ and the lower triangle of B.
        u.clear();
        u.extend(used.iter().map(|&j| dot(&joint.theta[j as usize * shared..][..shared], s)));
        b.clear();
        b.resize(m * m, 0.0);
        for (at, &j) in used.iter().enumerate() {
            for (i, &factor) in s.iter().enumerate().filter(|(_, &s)| s != 0.0) {
                let row = joint.row(j as usize * shared + i);
                for (other, &column) in used[..=at].iter().enumerate() {
                    b[at * m + other] += factor * dot(&row[column as usize * shared..][..shared], s);
                }
            }
        }
        for at in 0..m {
            for other in 0..at {
                b[other * m + at] = b[at * m + other];
            }
        }
        let n = round.len();
        dense.clear();
        dense.resize(if covariance { n * m } else { m }, 0.0);
        for index in 0..n {
            let a = match covariance {
                true => &mut dense[index * m..(index + 1) * m],
                false => &mut dense[..],
            };
            a.fill(0.0);
            let mut beyond = 0.0;
            match a.first_mut().filter(|_| action > 0) {
                Some(first) => *first = 1.0,
                None => beyond += 1.0,
            }
            for (slot, value) in round.action(index).iter() {
                match places.get(slot) {
                    Some(&place) => a[place as usize] += value,
                    None => beyond += value * value,
                }
            }
            mean.push(dot(u, a));
            let form: f64 = a.iter().enumerate().map(|(row, a_row)| a_row * dot(&b[row * m..][..m], a)).sum();
            let known = dot(a, a);
            // ‖s ⊗ a‖² over all pairs, without those that the block has.
            let pairs = (context + context_beyond) * (known + beyond) - context * known;
            variance.push(form.max(0.0) + pairs.max(0.0) * prior);
        }
        if covariance {
            all.resize(n * n, 0.0);
            u.resize(m, 0.0);
            for row in 0..n {
                let a = &dense[row * m..][..m];
                u.clear();
                u.extend((0..m).map(|at| dot(&b[at * m..][..m], a)));
                for column in 0..n {
                    all[row * n + column] = match row == column {
                        true => variance[row],
                        false => dot(u, &dense[column * m..][..m]),
                    };
                }
            }
        }
    }

    /// Learn the reward of an action of a round. After a fault nothing has changed.
    pub fn learn(&mut self, round: &Round, index: usize, spaces: &Spaces, reward: f64, w: f64) -> Result<()> {
        match round.has_features() {
            true => self.learn_joint(round, index, spaces, reward, w),
            false => self.learn_arm(round, index, spaces, reward, w),
        }
    }

    fn learn_arm(&mut self, round: &Round, index: usize, spaces: &Spaces, reward: f64, w: f64) -> Result<()> {
        let (arm, width, prior) = (round.arms[index] as usize, spaces.width(Space::Shared), 1.0 / self.l2);
        let others: usize = self.state.arms.iter().map(|block| block.p.len()).sum();
        let own = self.state.arms.get(arm - 1).map_or(0, |block| block.p.len());
        if width > own.isqrt() && others - own + width * width > self.most * self.most {
            return Err(Fault::value(format!(
                "{}: the matrices of the actions would have {} numbers, max_features allows {} squared",
                self.who,
                others - own + width * width,
                self.most
            )));
        }
        let known = self.state.arms.len();
        if known < arm {
            self.state.arms.resize(arm, Block::default());
        }
        let Buffers { s, k, theta, .. } = &mut self.buffers;
        let block = &mut self.state.arms[arm - 1];
        let narrow = (block.len() < width).then(|| block.clone());
        if narrow.is_some() {
            block.spread(width, prior, |index| index);
        }
        spread(round.shared.view(), width, s);
        k.clear();
        k.extend((0..width).map(|row| dot(block.row(row), s)));
        let error = reward - dot(&block.theta, s);
        if block.step(k, dot(s, k), error, w, theta) {
            return Ok(());
        }
        if let Some(before) = narrow {
            *block = before;
            self.state.arms.truncate(known);
        }
        Err(Fault::overflow(&self.who))
    }

    fn learn_joint(&mut self, round: &Round, index: usize, spaces: &Spaces, reward: f64, w: f64) -> Result<()> {
        let (shared, action) = (spaces.width(Space::Shared), spaces.width(Space::Action));
        let state = &mut self.state;
        let mut narrow = None;
        if shared > state.shared || action > state.action {
            let n = shared * action;
            if n > self.most {
                return Err(Fault::value(format!(
                    "{}: {shared} features of the context × {action} of the actions are {n} weights, max_features is {}",
                    self.who, self.most
                )));
            }
            let before = state.shared;
            let place = |index: usize| index / before.max(1) * shared + index % before.max(1);
            narrow = Some((state.joint.clone(), state.shared, state.action));
            state.joint.spread(n, 1.0 / self.l2, place);
            (state.shared, state.action) = (shared, action);
        }
        let Buffers { s, x, k, theta } = &mut self.buffers;
        spread(round.shared.view(), shared, s);
        let block = &mut state.joint;
        let n = block.len();
        x.clear();
        x.resize(n, 0.0);
        let a = round.action(index);
        let mut touched = 0;
        for (slot, value) in std::iter::once((0, 1.0)).chain(a.iter()) {
            for (x, s) in x[slot * shared..][..shared].iter_mut().zip(s.iter()) {
                *x += value * s;
            }
            touched += shared;
        }
        k.clear();
        if 2 * touched < n {
            k.extend((0..n).map(|row| {
                let row = block.row(row);
                let part = |(slot, value): (usize, f64)| value * dot(&row[slot * shared..][..shared], s);
                part((0, 1.0)) + a.iter().map(part).sum::<f64>()
            }));
        } else {
            k.extend((0..n).map(|row| dot(block.row(row), x)));
        }
        let error = reward - dot(&block.theta, x);
        if block.step(k, dot(x, k), error, w, theta) {
            return Ok(());
        }
        if let Some(before) = narrow {
            (state.joint, state.shared, state.action) = before;
        }
        Err(Fault::overflow(&self.who))
    }

    /// The weights of an arm, or of the products of context and action: a row for each feature of the action.
    pub fn weights(&self, arm: Option<u32>) -> (&[f64], usize) {
        match arm {
            Some(arm) => match self.state.arms.get(arm as usize) {
                Some(block) => (&block.theta, block.len().max(1)),
                None => (&[], 1),
            },
            None => (&self.state.joint.theta, self.state.shared.max(1)),
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn who(&self) -> &str {
        &self.who
    }

    pub fn l2(&self) -> f64 {
        self.l2
    }

    /// The most coordinates of the joint block.
    pub fn most(&self) -> usize {
        self.most
    }

    pub fn arms(&self) -> usize {
        self.state.arms.len()
    }

    /// Adopt a saved state, after checking that it fits.
    pub fn adopt(&mut self, saved: SavedLeastSquares, spaces: &Spaces) -> Result<()> {
        let SavedLeastSquares(state) = saved;
        let who = &self.who;
        for block in state.arms.iter().chain([&state.joint]) {
            block.validate(who)?;
        }
        require(who, state.arms.len() < spaces.width(Space::Arm).max(1), "an action without a label")?;
        let narrow = state.arms.iter().all(|block| block.len() <= spaces.width(Space::Shared));
        let joint = state.shared.checked_mul(state.action) == Some(state.joint.len())
            && state.shared <= spaces.width(Space::Shared)
            && state.action <= spaces.width(Space::Action);
        require(who, narrow && joint, "weights and features differ in number")?;
        self.state = state;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let blocks: usize = self.state.arms.iter().map(Block::memory).sum();
        blocks + self.state.joint.memory()
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedLeastSquares(pub State);
