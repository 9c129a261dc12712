//! A policy with context: a model of rewards, an explorer, and the decisions whose reward has not arrived.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merger;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::row::Scratch;
use crate::task::Numbers;

use super::bounds::Bounds;
use super::explore::{self, Explorer};
use super::least_squares::{Estimates, LeastSquares, SavedLeastSquares};
use super::merging::Part as MergedPart;
use super::pending::{Open, Pending};
use super::regression::{Buffers, Regression, SavedRegression};
use super::round::{Round, Space, Spaces};
use super::thompson;

/// Number of actions whose rewards are drawn jointly.
const MOST_JOINT_ACTIONS: usize = 4096;

/// How the reward of the action taken becomes an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The action taken alone, as it is: the direct method.
    Direct,
    /// The action taken, with the weight 1 / (K p) (multi-task regression of Bietti, Agarwal and Langford, 2021).
    MultiTask,
    /// All actions: r / p for the one taken, and 0 for the others.
    InversePropensity,
    /// All actions: the reward a second model predicts, plus its error over p for the action taken.
    DoublyRobust,
}

impl Estimate {
    pub const WORDS: [&'static str; 4] = ["dm", "mtr", "ips", "dr"];

    pub fn named(word: &str) -> Option<Estimate> {
        Some(match word {
            "dm" => Estimate::Direct,
            "mtr" => Estimate::MultiTask,
            "ips" => Estimate::InversePropensity,
            "dr" => Estimate::DoublyRobust,
            _ => return None,
        })
    }

    fn needs_probability(self) -> bool {
        self != Estimate::Direct
    }
}

/// How actions are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    Explorer(Explorer),
    /// The highest mean + α √variance.
    UpperBound {
        alpha: f64,
    },
    /// Thompson sampling with the posterior's deviation times `scale`.
    Posterior {
        scale: f64,
        samples: u32,
    },
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub who: String,
    pub choice: Choice,
    pub estimate: Estimate,
    pub range: Option<(f64, f64)>,
    pub max_pending: usize,
    pub max_features: usize,
    pub seed: u64,
}

#[derive(Clone)]
enum Model {
    LeastSquares(Box<LeastSquares>),
    Regression(Box<Regression>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    spaces: Spaces,
    random: Random,
    /// The number of rewards that were learned.
    learned: f64,
    /// The least and the largest reward so far.
    seen: Option<(f64, f64)>,
    pending: Pending,
}

#[derive(Clone)]
pub struct Policy {
    settings: Settings,
    model: Model,
    state: State,
    work: Work,
}

/// Buffers to decide with.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub probabilities: Vec<f64>,
    estimates: Estimates,
    predicted: Vec<f64>,
    spare: Vec<f64>,
    buffers: Buffers,
}

/// An action taken: its index, its probability, and the id of the decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub index: usize,
    pub probability: f64,
    pub id: u64,
}

impl Policy {
    pub fn least_squares(settings: Settings, l2: f64) -> Result<Self> {
        if matches!(settings.estimate, Estimate::InversePropensity | Estimate::DoublyRobust) {
            return Err(Fault::value(format!(
                "{}: estimate must be 'dm' or 'mtr' with exact least squares (no model given)",
                settings.who
            )));
        }
        let model = LeastSquares::new(&settings.who, l2, settings.max_features);
        Ok(Policy::new(settings, Model::LeastSquares(Box::new(model))))
    }

    pub fn regression(settings: Settings, model: Box<dyn Learner<Numbers>>, products: bool) -> Result<Self> {
        let Choice::Explorer(explorer) = settings.choice else {
            return Err(Fault::value(format!("{}: needs exact least squares", settings.who)));
        };
        // A second model for the direct part of doubly robust estimates.
        let direct = settings.estimate == Estimate::DoublyRobust || matches!(explorer, Explorer::Cover { .. });
        let count = explorer.models() + usize::from(direct);
        let model = Regression::new(&settings.who, model, count, products, settings.max_features);
        Ok(Policy::new(settings, Model::Regression(Box::new(model))))
    }

    fn new(settings: Settings, model: Model) -> Self {
        let random = Random::new(settings.seed, 1);
        let state =
            State { spaces: Spaces::default(), random, learned: 0.0, seen: None, pending: Pending::default() };
        Policy { settings, model, state, work: Work::default() }
    }

    pub fn who(&self) -> &str {
        &self.settings.who
    }

    pub fn spaces(&self) -> &Spaces {
        &self.state.spaces
    }

    pub fn pending(&self) -> u64 {
        self.state.pending.len()
    }

    pub fn dropped(&self) -> u64 {
        self.state.pending.dropped
    }

    /// The middle of the declared range, which the model does not have to learn.
    fn center(&self) -> f64 {
        self.settings.range.map_or(0.0, |(low, high)| low + (high - low) / 2.0)
    }

    /// The size of the range of rewards: as declared, or as seen so far.
    fn range(&self) -> f64 {
        match self.settings.range.or(self.state.seen) {
            Some((low, high)) if high > low => high - low,
            _ => 1.0,
        }
    }

    /// Write the probability of each action to `work`. Changes nothing.
    pub fn probabilities(&self, round: &Round, work: &mut Work, scratch: &mut Scratch) {
        match &self.model {
            Model::LeastSquares(model) => self.least_squares_probabilities(model, round, work),
            Model::Regression(model) => self.regression_probabilities(model, round, work, scratch),
        }
    }

    fn least_squares_probabilities(&self, model: &LeastSquares, round: &Round, work: &mut Work) {
        let Work { probabilities, estimates, spare, .. } = work;
        let posterior = matches!(self.settings.choice, Choice::Posterior { .. });
        model.estimate(round, posterior, estimates);
        let Estimates { mean, variance, covariance, .. } = estimates;
        round.charge(mean);
        let bounds = |width: f64, spare: &mut Vec<f64>| {
            spare.clear();
            spare.extend(mean.iter().zip(&*variance).map(|(mean, variance)| mean + width * variance.sqrt()));
        };
        match self.settings.choice {
            Choice::UpperBound { alpha } => {
                bounds(alpha, spare);
                explore::greedy(spare, probabilities);
            }
            Choice::Posterior { scale, samples } => {
                let mut random = Random::new(self.state.random.clone().bits(), 2);
                let into = (spare, probabilities);
                thompson::fractions(mean, covariance, scale, samples, &mut random, into);
            }
            Choice::Explorer(Explorer::RegCb { mellowness, optimistic }) => {
                let delta = explore::confidence(mellowness, round.len(), self.state.learned, self.range()).sqrt();
                bounds(delta, spare);
                if optimistic {
                    explore::greedy(spare, probabilities);
                } else {
                    let lower = |index: usize| mean[index] - delta * variance[index].sqrt();
                    let best = (0..mean.len()).map(lower).fold(f64::NEG_INFINITY, f64::max);
                    explore::uniform_where(spare.iter().map(|&upper| upper >= best), probabilities);
                }
            }
            Choice::Explorer(explorer) => explorer.probabilities(mean, self.state.learned, probabilities),
        }
    }

    fn regression_probabilities(&self, model: &Regression, round: &Round, work: &mut Work, scratch: &mut Scratch) {
        let Work { probabilities, predicted, spare, buffers, .. } = work;
        let Choice::Explorer(explorer) = self.settings.choice else { return };
        match explorer {
            Explorer::Bag { models, .. } => {
                probabilities.clear();
                probabilities.resize(round.len(), 0.0);
                for member in 0..models {
                    model.predict(member, round, predicted, buffers, scratch);
                    round.charge(predicted);
                    explore::greedy(predicted, spare);
                    for (p, vote) in probabilities.iter_mut().zip(&*spare) {
                        *p += vote / models as f64;
                    }
                }
            }
            Explorer::Cover { policies, epsilon, .. } => {
                probabilities.clear();
                probabilities.resize(round.len(), 0.0);
                for member in 0..policies {
                    model.predict(member, round, predicted, buffers, scratch);
                    round.charge(predicted);
                    explore::greedy(predicted, spare);
                    add_votes(probabilities, spare, 1.0 / policies as f64);
                }
                explore::raise_to(self.least(epsilon, round.len()), probabilities);
            }
            Explorer::RegCb { mellowness, optimistic } => {
                let (range, center) = (self.range(), self.center());
                let bounds = Bounds {
                    range: self.settings.range.map(|(low, high)| (low - center, high - center)),
                    seen: self.state.seen.map_or((0.0, range), |(low, high)| (low - center, high - center)),
                    size: range,
                    delta: explore::confidence(mellowness, round.len(), self.state.learned, range),
                };
                bounds.write(model, round, true, spare, scratch);
                round.charge(spare);
                if optimistic {
                    explore::greedy(spare, probabilities);
                } else {
                    bounds.write(model, round, false, predicted, scratch);
                    round.charge(predicted);
                    let best = explore::largest(predicted);
                    explore::uniform_where(spare.iter().map(|&upper| upper >= best), probabilities);
                }
            }
            _ => {
                model.predict(0, round, predicted, buffers, scratch);
                round.charge(predicted);
                explorer.probabilities(predicted, self.state.learned, probabilities);
            }
        }
    }

    /// The least probability of `Explorer::Cover`.
    fn least(&self, epsilon: f64, actions: usize) -> f64 {
        let k = actions as f64;
        epsilon * (1.0 / k).min(1.0 / (self.state.learned.max(1.0) * k).sqrt())
    }

    /// Write the reward that the model predicts for each action.
    pub fn rewards(&self, round: &Round, out: &mut Vec<f64>, work: &mut Work, scratch: &mut Scratch) {
        match &self.model {
            Model::LeastSquares(model) => {
                model.estimate(round, false, &mut work.estimates);
                out.clone_from(&work.estimates.mean);
            }
            Model::Regression(model) => model.predict(0, round, out, &mut work.buffers, scratch),
        }
        let center = self.center();
        out.iter_mut().for_each(|reward| *reward += center);
    }

    /// Draw an action, and keep the decision until its reward arrives.
    pub fn decide(&mut self, round: &mut Round, scratch: &mut Scratch) -> Result<Decision> {
        round.check(&self.settings.who)?;
        self.check_size(round)?;
        self.state.spaces.admit(&self.settings.who, round, self.settings.max_features)?;
        let mut work = std::mem::take(&mut self.work);
        self.probabilities(round, &mut work, scratch);
        let index = drawn(&work.probabilities, &mut self.state.random);
        let probability = work.probabilities[index];
        self.work = work;
        let only = (!self.learns_all()).then_some(index);
        let id = self.state.pending.push(self.settings.max_pending, |open| {
            open.round.copy_from(round, only);
            open.action = if only.is_some() { 0 } else { index as u32 };
            open.actions = round.len() as u32;
            open.probability = probability;
        });
        Ok(Decision { index, probability, id })
    }

    /// Refuse a round whose joint covariance does not fit in memory.
    pub fn check_size(&self, round: &Round) -> Result<()> {
        let joint = matches!(self.settings.choice, Choice::Posterior { .. });
        if joint && round.len() > MOST_JOINT_ACTIONS {
            return Err(Fault::value(format!(
                "{}: supports up to {MOST_JOINT_ACTIONS} actions in a round, got {}: their covariance grows with \
                 the square",
                self.settings.who,
                round.len()
            )));
        }
        Ok(())
    }

    /// Whether a reward teaches the model about all actions of the round.
    fn learns_all(&self) -> bool {
        let cover = matches!(self.settings.choice, Choice::Explorer(Explorer::Cover { .. }));
        cover || matches!(self.settings.estimate, Estimate::InversePropensity | Estimate::DoublyRobust)
    }

    fn check_reward(&self, reward: f64) -> Result<()> {
        let who = &self.settings.who;
        if !reward.is_finite() {
            return Err(Fault::value(format!("{who}: reward must be finite, got {}", Shown(reward))));
        }
        match self.settings.range {
            Some((low, high)) if !(low..=high).contains(&reward) => Err(Fault::value(format!(
                "{who}: reward must be in [{}, {}] (reward_range), got {}",
                Shown(low),
                Shown(high),
                Shown(reward)
            ))),
            _ => Ok(()),
        }
    }

    /// Learn the reward of a decision.
    pub fn learn_id(&mut self, id: u64, reward: f64, scratch: &mut Scratch) -> Result<()> {
        self.check_reward(reward)?;
        let open = self.state.pending.take(&self.settings.who, id)?;
        let Open { round, action, actions, probability } = &*open;
        let learned = self.teach(round, *action as usize, *actions as usize, reward, *probability, scratch);
        match learned {
            Ok(()) => self.state.pending.recycle(open),
            Err(_) => self.state.pending.put_back(id, open),
        }
        learned
    }

    /// Learn a round of a log: the reward of the action at `index`, taken with `probability`.
    pub fn learn_round(
        &mut self,
        round: &mut Round,
        index: usize,
        reward: f64,
        probability: Option<f64>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let who = &self.settings.who;
        round.check(who)?;
        self.check_reward(reward)?;
        let probability = match probability {
            Some(p) if p > 0.0 && p <= 1.0 => p,
            Some(p) => {
                return Err(Fault::value(format!("{who}: probability must be in (0, 1], got {}", Shown(p))))
            }
            None if self.needs_probability() => {
                return Err(Fault::value(format!(
                    "{who}: probability of the action taken must be given with this estimate, got none"
                )))
            }
            None => 1.0,
        };
        if index >= round.len() {
            return Err(Fault::value(format!(
                "{who}: the action taken must be one of the {} actions, got index {index}",
                round.len()
            )));
        }
        let extent = self.state.spaces.extent();
        self.state.spaces.admit(who, round, self.settings.max_features)?;
        let learned = self.teach(round, index, round.len(), reward, probability, scratch);
        if learned.is_err() {
            self.state.spaces.rollback(extent);
        }
        learned
    }

    fn needs_probability(&self) -> bool {
        self.settings.estimate.needs_probability()
            || matches!(self.settings.choice, Choice::Explorer(Explorer::Cover { .. }))
    }

    fn teach(
        &mut self,
        round: &Round,
        index: usize,
        actions: usize,
        reward: f64,
        p: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let centered = reward - self.center();
        let w = match (self.settings.estimate, self.settings.choice) {
            // Inverse gaps are proved for a regression without importance weights; the factor is VW's.
            (Estimate::MultiTask, Choice::Explorer(Explorer::SquareCb { .. })) => 1.0 / actions as f64,
            (Estimate::MultiTask, _) => 1.0 / (p * actions as f64),
            _ => 1.0,
        };
        if matches!(self.model, Model::Regression(_)) {
            self.teach_regression(round, index, centered, (w, p), scratch)?;
        } else if let Model::LeastSquares(model) = &mut self.model {
            model.learn(round, index, &self.state.spaces, centered, w)?;
        }
        let (low, high) = self.state.seen.unwrap_or((reward, reward));
        self.state.seen = Some((low.min(reward), high.max(reward)));
        self.state.learned += 1.0;
        Ok(())
    }

    fn teach_regression(
        &mut self,
        round: &Round,
        index: usize,
        reward: f64,
        (w, p): (f64, f64),
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (all, least) = (
            self.learns_all(),
            match self.settings.choice {
                Choice::Explorer(Explorer::Cover { epsilon, .. }) => self.least(epsilon, round.len()),
                _ => 0.0,
            },
        );
        let Policy { settings, model: Model::Regression(model), state, work, .. } = self else { return Ok(()) };
        let Choice::Explorer(explorer) = settings.choice else { return Ok(()) };
        let before = model.products.len();
        let single = model.len() == 1 && !all;
        let random = state.random.clone();
        // A step of one model is atomic; several need a way back.
        let copies = if single { Vec::new() } else { savepoints(model) };
        let lesson = Lesson { round, index, reward, w, p, estimate: settings.estimate, least };
        let taught = lesson.teach(model, explorer, &state.spaces, &mut state.random, work, scratch);
        if taught.is_err() {
            if !single {
                roll_back(model, copies);
            }
            model.shrink(before, &state.spaces);
            state.random = random;
        } else if !single {
            model.models_mut().iter_mut().for_each(|model| model.commit());
        }
        taught
    }

    pub fn least_squares_model(&self) -> Option<&LeastSquares> {
        match &self.model {
            Model::LeastSquares(model) => Some(model),
            Model::Regression(_) => None,
        }
    }

    pub fn learned(&self) -> u64 {
        self.state.learned as u64
    }
}

/// Add the votes of one policy, for actions that the policy thinks best.
fn add_votes(p: &mut [f64], votes: &[f64], weight: f64) {
    for (p, vote) in p.iter_mut().zip(votes) {
        *p += weight * vote;
    }
}

/// Savepoints of all models; copies of those that cannot record one.
fn savepoints(model: &mut Regression) -> Vec<Option<Box<dyn Learner<Numbers>>>> {
    model.models_mut().iter_mut().map(|model| (!model.savepoint()).then(|| model.duplicate())).collect()
}

fn roll_back(model: &mut Regression, copies: Vec<Option<Box<dyn Learner<Numbers>>>>) {
    for (model, copy) in model.models_mut().iter_mut().zip(copies) {
        match copy {
            Some(copy) => *model = copy,
            None => model.rollback(),
        }
    }
}

/// What a regression learns from one reward.
struct Lesson<'a> {
    round: &'a Round,
    index: usize,
    reward: f64,
    w: f64,
    p: f64,
    estimate: Estimate,
    /// The least probability of `Explorer::Cover`.
    least: f64,
}

impl Lesson<'_> {
    fn teach(
        &self,
        model: &mut Regression,
        explorer: Explorer,
        spaces: &Spaces,
        random: &mut Random,
        work: &mut Work,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Lesson { round, index, .. } = *self;
        let all = matches!(self.estimate, Estimate::InversePropensity | Estimate::DoublyRobust)
            || matches!(explorer, Explorer::Cover { .. });
        if all {
            (0..round.len()).try_for_each(|index| model.grow(round, index, spaces).map(drop))?;
            self.write_targets(model, matches!(explorer, Explorer::Cover { .. }), work, scratch)?;
        } else {
            model.grow(round, index, spaces)?;
        }
        match explorer {
            Explorer::Bag { models, greedify } => {
                for member in 0..models {
                    let copies = if greedify && member == 0 { 1 } else { poisson(random) };
                    if copies > 0 {
                        self.teach_one(model, member, f64::from(copies), work, scratch)?;
                    }
                }
                Ok(())
            }
            Explorer::Cover { policies, psi, .. } => self.teach_cover(model, policies, psi, work, scratch),
            _ => self.teach_one(model, 0, 1.0, work, scratch),
        }
    }

    /// Write the estimated reward of each action to `work.spare`.
    fn write_targets(
        &self,
        model: &mut Regression,
        doubly: bool,
        work: &mut Work,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Work { predicted, spare, buffers, .. } = work;
        spare.clear();
        if doubly || self.estimate == Estimate::DoublyRobust {
            let direct = model.len() - 1;
            model.predict(direct, self.round, predicted, buffers, scratch);
            spare.extend_from_slice(predicted);
            model.learn(direct, self.round, self.index, self.reward, 1.0, scratch)?;
        } else {
            spare.resize(self.round.len(), 0.0);
        }
        spare[self.index] += (self.reward - spare[self.index]) / self.p;
        Ok(())
    }

    fn teach_one(
        &self,
        model: &mut Regression,
        member: usize,
        copies: f64,
        work: &Work,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.estimate {
            Estimate::Direct | Estimate::MultiTask => {
                model.learn(member, self.round, self.index, self.reward, self.w * copies, scratch)
            }
            _ => (0..self.round.len())
                .try_for_each(|a| model.learn(member, self.round, a, work.spare[a], copies, scratch)),
        }
    }

    /// Each policy learns rewards with a bonus for what the policies before it leave out (algorithm 5 of Bietti, Agarwal and
    /// Langford, 2021, "A contextual bandit bake-off").
    fn teach_cover(
        &self,
        model: &mut Regression,
        policies: usize,
        psi: f64,
        work: &mut Work,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Work { probabilities, predicted, spare, buffers, .. } = work;
        let (round, k) = (self.round, self.round.len());
        let mut votes = Vec::with_capacity(k);
        probabilities.clear();
        probabilities.resize(k, 0.0);
        let share = 1.0 / policies as f64;
        for member in 0..policies {
            let norm = self.least * k as f64 + member as f64 * share;
            for a in 0..k {
                let bonus = match member {
                    0 => 0.0,
                    _ => psi * self.least / (probabilities[a].max(self.least) / norm),
                };
                model.learn(member, round, a, spare[a] + bonus, 1.0, scratch)?;
            }
            model.predict(member, round, predicted, buffers, scratch);
            explore::greedy(predicted, &mut votes);
            add_votes(probabilities, &votes, share);
        }
        Ok(())
    }
}

/// Draw from the Poisson distribution with mean 1, by inversion.
fn poisson(random: &mut Random) -> u32 {
    let (mut left, mut share, mut count) = (random.unit(), (-1.0f64).exp(), 0);
    while left >= share && count < 20 {
        left -= share;
        count += 1;
        share /= f64::from(count);
    }
    count
}

/// Draw an index by its probability; never one of probability 0.
pub fn drawn(probabilities: &[f64], random: &mut Random) -> usize {
    let mut left = random.unit();
    let mut last = 0;
    for (index, &p) in probabilities.iter().enumerate().filter(|(_, &p)| p > 0.0) {
        if left < p {
            return index;
        }
        left -= p;
        last = index;
    }
    last
}

#[derive(Serialize)]
struct Saving<'a, M> {
    state: &'a State,
    model: M,
}

#[derive(Deserialize)]
struct Saved<M> {
    state: State,
    model: M,
}

impl Policy {
    fn adopt(&mut self, state: State) -> Result<()> {
        let who = &self.settings.who;
        require(who, state.learned >= 0.0 && state.learned.is_finite(), "a count is out of range")?;
        let seen = state.seen.is_none_or(|(low, high)| low.is_finite() && high.is_finite() && low <= high);
        require(who, seen, "a range is not valid")?;
        state.pending.validate(who, self.settings.max_pending, &state.spaces)?;
        self.state = state;
        Ok(())
    }
}

impl Part for Policy {
    fn save(&self) -> Result<Vec<u8>> {
        match &self.model {
            Model::LeastSquares(model) => pack(&Saving { state: &self.state, model: model.state() }),
            Model::Regression(model) => pack(&Saving { state: &self.state, model: model.save()? }),
        }
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = self.settings.who.clone();
        match &mut self.model {
            Model::LeastSquares(model) => {
                let saved: Saved<SavedLeastSquares> = unpack(&who, bytes)?;
                model.adopt(saved.model, &saved.state.spaces)?;
                self.adopt(saved.state)
            }
            Model::Regression(model) => {
                let saved: Saved<SavedRegression> = unpack(&who, bytes)?;
                model.adopt(saved.model, &saved.state.spaces)?;
                self.adopt(saved.state)
            }
        }
    }

    /// What the least squares have learned is added. Decisions that wait stay with the policy that made them, except for
    /// those of a base whose rewards the other policy has learned: they are closed.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let Policy { settings, model: Model::LeastSquares(model), state, .. } = self else {
            return Err(Fault::value("cannot be merged"));
        };
        let (mut parts, mut ids) = (Vec::new(), Vec::new());
        for (side, sign) in merger.sides() {
            let Saved { state: other, model }: Saved<SavedLeastSquares> = unpack(&settings.who, side.state)?;
            let slots = [Space::Shared, Space::Action, Space::Arm].map(|space| {
                let names =
                    other.spaces.schema(space).names().map(|name| state.spaces.intern(space, &name) as usize + 1);
                std::iter::once(0).chain(names).collect::<Vec<_>>()
            });
            parts.push(MergedPart { model, slots, sign });
            state.learned = (state.learned + sign * other.learned).max(0.0);
            if let Some((low, high)) = other.seen {
                let (least, largest) = state.seen.unwrap_or((low, high));
                state.seen = Some((least.min(low), largest.max(high)));
            }
            ids.push(other.pending.ids());
        }
        if let [theirs, base] = &ids[..] {
            base.difference(theirs).for_each(|&id| state.pending.close(id));
        }
        model.merge(&parts, &state.spaces)
    }

    fn memory(&self) -> usize {
        let model = match &self.model {
            Model::LeastSquares(model) => model.memory(),
            Model::Regression(model) => model.memory(),
        };
        std::mem::size_of::<Self>() + model + self.state.spaces.memory() + self.state.pending.memory()
    }

    fn inspect(&self, _schema: &crate::schema::Schema) -> serde_json::Value {
        let spaces = &self.state.spaces;
        let mut out = serde_json::json!({ "learned": self.state.learned });
        match &self.model {
            Model::Regression(model) => {
                let schema = model.products.schema(spaces);
                let models: Vec<_> = model.models().iter().map(|model| model.inspect(&schema)).collect();
                out["models"] = models.into();
            }
            Model::LeastSquares(model) => {
                let name = |space: Space, slot: usize| match slot {
                    0 => "constant".to_string(),
                    slot => spaces.schema(space).name(slot - 1).text(),
                };
                let named = |weights: &[f64]| -> serde_json::Map<String, serde_json::Value> {
                    let weights = weights.iter().enumerate();
                    weights.map(|(slot, &w)| (name(Space::Shared, slot), w.into())).collect()
                };
                let mut arms = serde_json::Map::new();
                for arm in 0..model.arms() {
                    arms.insert(name(Space::Arm, arm + 1), named(model.weights(Some(arm as u32)).0).into());
                }
                out["arms"] = arms.into();
                let (joint, width) = model.weights(None);
                let rows = joint.chunks(width).enumerate();
                let rows: serde_json::Map<_, _> =
                    rows.map(|(slot, row)| (name(Space::Action, slot), named(row).into())).collect();
                out["products"] = rows.into();
            }
        }
        out
    }
}
