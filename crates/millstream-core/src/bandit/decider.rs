//! A policy with its actions, its random numbers and the decisions that wait for rewards; and the verbs of a held policy.
//!
//! The policy knows neither names nor ids nor the scale of rewards: what all policies have in common is here, once.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use super::actions::{Actions, Given};
use super::open_decisions::OpenDecisions;
use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack_around, require, unpack, Packed};
use crate::held::{Held, Holdable, Seeds};
use crate::labels::Label;
use crate::merging::{Merger, Side};
use crate::numeric::magnitude::LARGEST;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::policy::{Chance, Feedback, Policy};
use crate::schema::Schema;

/// A decision: the code of the action, its probability, and the id under which its reward is learned.
#[derive(Clone, Debug)]
pub struct Decision {
    pub action: u32,
    pub chance: Chance,
    pub id: u64,
}

/// A decision that waits for its reward; saved without the names of its fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "(u32, f64)", into = "(u32, f64)")]
struct Open {
    action: u32,
    chance: Chance,
}

/// Bytes that are kept for probabilities nobody has asked for; then those of the oldest decisions are computed.
const LATE_BYTES: usize = 1 << 18;

impl From<(u32, f64)> for Open {
    fn from((action, probability): (u32, f64)) -> Self {
        Open { action, chance: Chance::Known(probability) }
    }
}

impl From<Open> for (u32, f64) {
    fn from(open: Open) -> Self {
        (open.action, open.chance.value())
    }
}

#[derive(Clone)]
pub struct Decider {
    policy: Box<dyn Policy>,
    max_actions: usize,
    max_pending: usize,
    range: Option<(f64, f64)>,
    state: State,
    /// The codes of all actions, ascending.
    all: Vec<u32>,
    /// Bytes kept for the probability of each of the latest decisions, and their sum.
    late: VecDeque<usize>,
    late_bytes: usize,
    buffers: Buffers,
}

#[derive(Clone)]
struct State {
    actions: Actions,
    open: OpenDecisions<Open>,
    random: Random,
    /// Number of calls that listed actions: the time of `Actions`.
    round: u64,
    /// Number of actions that made room for others.
    forgotten: u64,
}

/// Kept, so that a decision allocates nothing.
#[derive(Clone, Default)]
struct Buffers {
    /// The codes of the offered actions.
    codes: Vec<u32>,
    probabilities: Vec<f64>,
    sorted: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct SavedState<'a> {
    actions: Vec<Option<Label>>,
    offered: Vec<u64>,
    open: OpenDecisions<Open>,
    random: Random,
    round: u64,
    forgotten: u64,
    #[serde(borrow)]
    policy: Packed<'a>,
}

/// Codes that stand for actions which the policy has not met, in calls that change nothing.
fn stand_in(unknown: usize) -> u32 {
    u32::MAX - unknown as u32
}

impl Decider {
    /// `parameters` are those of the policy.
    fn new(policy: Box<dyn Policy>, parameters: &Json) -> Option<Self> {
        let size = |name: &str| usize::try_from(parameters[name].as_u64()?).ok();
        let actions: Option<Vec<Label>> = serde_json::from_value(parameters["actions"].clone()).ok()?;
        let random = Random::new(parameters["seed"].as_u64()?, PURPOSE);
        let mut state =
            State { actions: Actions::default(), open: OpenDecisions::default(), random, round: 0, forgotten: 0 };
        for label in actions.iter().flatten() {
            state.actions.admit(label.into(), 0);
        }
        let range = policy.reward_range();
        let (max_actions, max_pending) = (size("max_actions")?, size("max_pending")?);
        let buffers = Buffers::default();
        let (all, late) = (Vec::new(), VecDeque::new());
        let mut decider =
            Decider { policy, max_actions, max_pending, range, state, all, late, late_bytes: 0, buffers };
        decider.list_all();
        Some(decider)
    }

    fn list_all(&mut self) {
        self.all.clear();
        self.all.extend(self.state.actions.codes());
    }

    /// Find the codes of some actions, with stand-ins for unknown ones; returns their number.
    fn look_up<'a>(&self, given: impl Iterator<Item = Given<'a>>, codes: &mut Vec<u32>) -> usize {
        codes.clear();
        let mut unknown = 0;
        codes.extend(given.map(|action| {
            self.state.actions.code(action).unwrap_or_else(|| {
                unknown += 1;
                stand_in(unknown)
            })
        }));
        unknown
    }

    /// Refuse an empty list, and one with an action twice.
    fn check_list(&self, given: &[Given<'_>], codes: &[u32], sorted: &mut Vec<u32>) -> Result<()> {
        if codes.is_empty() {
            return Err(Fault::value("there must be at least one action, got none"));
        }
        if given.len() > self.max_actions {
            return Err(Fault::value(format!(
                "there can be {} actions at most, got {} (raise max_actions)",
                self.max_actions,
                given.len()
            )));
        }
        sorted.clear();
        sorted.extend_from_slice(codes);
        sorted.sort_unstable();
        let known = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let mut twice = known.and_then(|code| codes.iter().position(|&other| other == code));
        if twice.is_none() {
            let new: Vec<usize> = (0..codes.len()).filter(|&index| is_stand_in(codes[index])).collect();
            let mut seen = rustc_hash::FxHashSet::default();
            twice = new.into_iter().find(|&index| !seen.insert(given[index].label().key()));
        }
        match twice {
            Some(index) => {
                Err(Fault::value(format!("each action may be listed once, got {} twice", given[index].label())))
            }
            None => Ok(()),
        }
    }

    /// The probabilities of some actions, or of all of them.
    fn probabilities(&self, given: Option<&[Given<'_>]>) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        match given {
            None => self.policy.probabilities(self.known()?, &mut out),
            Some(given) => {
                let mut codes = Vec::new();
                self.look_up(given.iter().copied(), &mut codes);
                self.check_list(given, &codes, &mut Vec::new())?;
                self.policy.probabilities(&codes, &mut out);
            }
        }
        Ok(out)
    }

    fn known(&self) -> Result<&[u32]> {
        match self.all.is_empty() {
            false => Ok(&self.all),
            true => Err(Fault::value("no action is known yet; pass actions=[…]")),
        }
    }

    /// Take the list of a call: admit new actions, and write the codes to the buffer.
    fn take_list(&mut self, given: Option<&[Given<'_>]>) -> Result<()> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let taken = match given {
            None => self.known().map(|all| {
                buffers.codes.clear();
                buffers.codes.extend_from_slice(all);
            }),
            Some(given) if self.is_last_list(given, &buffers.codes) => {
                self.offer(given, &mut buffers.codes, 0);
                Ok(())
            }
            Some(given) => {
                let unknown = self.look_up(given.iter().copied(), &mut buffers.codes);
                let checked = self.check_list(given, &buffers.codes, &mut buffers.sorted);
                match checked {
                    Ok(()) => self.offer(given, &mut buffers.codes, unknown),
                    Err(_) => buffers.codes.clear(),
                }
                checked
            }
        };
        self.buffers = buffers;
        taken
    }

    /// Whether these actions have the codes that a call before has checked.
    #[inline]
    fn is_last_list(&self, given: &[Given<'_>], codes: &[u32]) -> bool {
        let same = |(&given, &code)| self.state.actions.label(code).is_some_and(|label| given == label.into());
        !given.is_empty() && given.len() == codes.len() && given.iter().zip(codes).all(same)
    }

    fn offer(&mut self, given: &[Given<'_>], codes: &mut [u32], unknown: usize) {
        self.state.round += 1;
        for &code in codes.iter() {
            self.state.actions.offer(code, self.state.round);
        }
        if unknown == 0 {
            return;
        }
        while self.state.actions.len() + unknown > self.max_actions {
            let Some(oldest) = self.state.actions.oldest(self.state.round) else { break };
            self.state.forgotten += 1;
            self.forget(oldest);
        }
        for (code, &action) in codes.iter_mut().zip(given) {
            if is_stand_in(*code) {
                *code = self.state.actions.admit(action, self.state.round);
            }
        }
        self.list_all();
    }

    fn forget(&mut self, code: u32) {
        self.state.actions.forget(code);
        self.policy.forget(code);
        self.state.open.drop_if(|open| open.action == code);
    }

    fn decide(&mut self, given: Option<&[Given<'_>]>) -> Result<Decision> {
        self.take_list(given)?;
        let Buffers { codes, probabilities, .. } = &mut self.buffers;
        let (index, chance) = self.policy.draw_with_probability(codes, &mut self.state.random, probabilities);
        let action = codes[index];
        let id = self.state.open.push(Open { action, chance: chance.clone() }, self.max_pending);
        if let Chance::Late(late) = &chance {
            self.limit_late(id, late.memory());
        }
        Ok(Decision { action, chance, id })
    }

    /// Note what is kept for the probability of a decision, and compute those of the oldest ones if that is too much.
    fn limit_late(&mut self, id: u64, bytes: usize) {
        self.late.push_back(bytes);
        self.late_bytes += bytes;
        while self.late_bytes > LATE_BYTES {
            let oldest = id + 1 - self.late.len() as u64;
            self.late_bytes -= self.late.pop_front().unwrap_or(self.late_bytes);
            if let Some(open) = self.state.open.get_mut(oldest) {
                open.chance = Chance::Known(open.chance.value());
            }
        }
    }

    fn pull(&mut self, given: Option<&[Given<'_>]>) -> Result<u32> {
        self.take_list(given)?;
        let Buffers { codes, probabilities, .. } = &mut self.buffers;
        Ok(codes[self.policy.draw(codes, &mut self.state.random, probabilities)])
    }

    /// The codes of a list of actions, for `draw`.
    pub(super) fn list(&mut self, given: &[Given<'_>]) -> Result<Vec<u32>> {
        self.take_list(Some(given))?;
        Ok(self.buffers.codes.clone())
    }

    /// Draw from the codes of `list`: an index, and its probability if the policy learns by it.
    #[inline]
    pub(super) fn draw(&mut self, codes: &[u32]) -> (usize, f64) {
        let (random, spare) = (&mut self.state.random, &mut self.buffers.probabilities);
        match self.policy.uses_probability() {
            true => {
                let (index, chance) = self.policy.draw_with_probability(codes, random, spare);
                (index, chance.value())
            }
            false => (self.policy.draw(codes, random, spare), 1.0),
        }
    }

    /// Learn the reward of a code of `list`.
    #[inline]
    pub(super) fn learn_taken(&mut self, action: u32, reward: f64, probability: f64) -> Result<()> {
        let reward = self.scaled(reward)?;
        self.policy.learn(Feedback { action, reward, probability, actions: &self.all })
    }

    /// A reward on the policy's scale.
    #[inline]
    fn scaled(&self, reward: f64) -> Result<f64> {
        let scaled = match self.range {
            Some((low, high)) if (low..=high).contains(&reward) => (reward - low) / (high - low),
            None if reward.abs() <= LARGEST => reward,
            _ => return Err(self.wrong_reward(reward)),
        };
        self.policy.check_reward(scaled).map(|()| scaled)
    }

    #[cold]
    fn wrong_reward(&self, reward: f64) -> Fault {
        let shown = Shown(reward);
        Fault::value(match self.range {
            _ if !reward.is_finite() => format!("the reward must be finite, got {shown}"),
            Some((low, high)) => {
                format!("the reward must be in [{}, {}], got {shown} (see reward_range)", Shown(low), Shown(high))
            }
            None => format!("the reward must be at most {LARGEST:e} in size, got {shown}"),
        })
    }

    fn learn(&mut self, id: u64, reward: f64) -> Result<()> {
        let open = self.state.open.get(id)?;
        let action = open.action;
        let probability = if self.policy.uses_probability() { open.chance.value() } else { 1.0 };
        let reward = self.scaled(reward)?;
        self.policy.learn(Feedback { action, reward, probability, actions: &self.all })?;
        self.state.open.close(id);
        Ok(())
    }

    fn learn_action(&mut self, action: Given<'_>, reward: f64, probability: Option<f64>) -> Result<()> {
        let reward = self.scaled(reward)?;
        if let Some(probability) =
            probability.filter(|probability| !(f64::MIN_POSITIVE..=1.0).contains(probability))
        {
            return Err(Fault::value(format!("the probability must be in (0, 1], got {}", Shown(probability))));
        }
        let known = self.state.actions.code(action);
        let probability = match probability {
            Some(probability) => probability,
            None if self.policy.uses_probability() => self.present_probability(known),
            None => 1.0,
        };
        let Some(code) = known else {
            // A new action, which may take the place of another one, goes again if the reward is refused.
            let before = self.clone();
            let mut codes = [stand_in(1)];
            self.offer(&[action], &mut codes, 1);
            let feedback = Feedback { action: codes[0], reward, probability, actions: &self.all };
            return self.policy.learn(feedback).inspect_err(|_| *self = before);
        };
        self.policy.learn(Feedback { action: code, reward, probability, actions: &self.all })?;
        self.offer(&[action], &mut [code], 0);
        Ok(())
    }

    /// The probability of an action, which may be new, among all of them.
    fn present_probability(&mut self, known: Option<u32>) -> f64 {
        let Buffers { codes, probabilities, .. } = &mut self.buffers;
        codes.clear();
        codes.extend_from_slice(&self.all);
        let index = known.and_then(|code| codes.iter().position(|&other| other == code)).unwrap_or_else(|| {
            codes.push(stand_in(1));
            codes.len() - 1
        });
        self.policy.probabilities(codes, probabilities);
        probabilities[index].max(f64::MIN_POSITIVE)
    }
}

fn is_stand_in(code: u32) -> bool {
    code > u32::MAX / 2
}

/// Separates the draws of a policy from those of a world with the same seed.
const PURPOSE: u64 = 0x706f_6c69_6379;

impl Part for Decider {
    fn save(&self) -> Result<Vec<u8>> {
        let policy = self.policy.save()?;
        let length = policy.len();
        let (actions, offered) = self.state.actions.entries();
        let saved = SavedState {
            actions: actions.to_vec(),
            offered: offered.to_vec(),
            open: self.state.open.clone(),
            random: self.state.random.clone(),
            round: self.state.round,
            forgotten: self.state.forgotten,
            policy: policy.into(),
        };
        pack_around(&saved, length)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        const WHO: &str = "policy";
        let saved: SavedState<'_> = unpack(WHO, bytes)?;
        let actions = Actions::from_entries(WHO, saved.actions, saved.offered)?;
        require(WHO, actions.len() <= self.max_actions.max(self.all.len()), "there are too many actions")?;
        require(WHO, saved.open.is_valid(self.max_pending), "the open decisions do not agree with their number")?;
        let good =
            |open: &Open| actions.label(open.action).is_some() && (0.0..=1.0).contains(&open.chance.value());
        require(WHO, saved.open.iter().all(|(_, open)| good(open)), "an open decision is not of a known action")?;
        self.policy.load(&saved.policy)?;
        let SavedState { open, random, round, forgotten, .. } = saved;
        self.state = State { actions, open, random, round, forgotten };
        self.late.clear();
        (self.late_bytes, self.buffers) = (0, Buffers::default());
        self.list_all();
        Ok(())
    }

    /// What is known of the actions is merged. Decisions that wait stay with the policy that made them, except for those
    /// of a base whose rewards the other policy has learned: they are closed.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        const WHO: &str = "policy";
        let saved: SavedState<'_> = unpack(WHO, merger.other.state)?;
        let base: Option<SavedState<'_>> = merger.base.map(|base| unpack(WHO, base.state)).transpose()?;
        if let Some(base) = &base {
            let learned = base.open.iter().filter(|(id, _)| saved.open.get(*id).is_err());
            learned.for_each(|(id, _)| self.state.open.close(id));
        }
        let known = base.as_ref().map_or(0, |base| base.forgotten);
        self.state.forgotten = self.state.forgotten.saturating_add(saved.forgotten.saturating_sub(known));
        self.state.round = self.state.round.max(saved.round);
        let mut admit = |saved: &SavedState<'_>| -> Vec<u32> {
            let (actions, round) = (&mut self.state.actions, self.state.round);
            let codes = saved.actions.iter();
            codes
                .map(|label| label.as_ref().map_or(u32::MAX, |label| actions.admit(label.into(), round)))
                .collect()
        };
        let codes = admit(&saved);
        let base_codes = base.as_ref().map(&mut admit).unwrap_or_default();
        if self.state.actions.len() > self.max_actions {
            return Err(Fault::value(format!(
                "there can be {} actions at most, but both policies have {} together (raise max_actions)",
                self.max_actions,
                self.state.actions.len()
            )));
        }
        let base = base.as_ref().zip(merger.base);
        self.policy.merge_state(&Merger {
            other: Side { state: &saved.policy, codes: &codes, ..merger.other },
            base: base.map(|(saved, side)| Side { state: &saved.policy, codes: &base_codes, ..side }),
            ..*merger
        })?;
        self.list_all();
        Ok(())
    }

    fn memory(&self) -> usize {
        let buffers = &self.buffers;
        let codes = self.all.capacity() + buffers.codes.capacity() + buffers.sorted.capacity();
        let own = self.state.actions.memory() + self.state.open.memory() + 4 * codes;
        self.policy.memory() + own + 8 * buffers.probabilities.capacity()
    }

    /// The actions with the numbers and the means of their rewards, and what the policy adds.
    fn inspect(&self, schema: &Schema) -> Json {
        let mut shown = match self.policy.inspect(schema) {
            Json::Object(shown) => shown,
            _ => serde_json::Map::new(),
        };
        let estimates = self.all.iter().map(|&code| self.policy.estimate(code));
        let (counts, means): (Vec<f64>, Vec<Option<f64>>) = estimates.unzip();
        let raw = |mean: f64| self.range.map_or(mean, |(low, high)| low + mean * (high - low));
        let labels: Vec<Option<&Label>> = self.all.iter().map(|&code| self.state.actions.label(code)).collect();
        shown.insert("actions".into(), json!(labels));
        shown.insert("counts".into(), json!(counts));
        shown.insert("means".into(), means.into_iter().map(|mean| json!(mean.map(raw))).collect());
        Json::Object(shown)
    }
}

impl Holdable for Decider {
    const WORD: &'static str = "policy";

    fn unbuild(built: Built, description: &Json) -> Option<Self> {
        match built {
            Built::Policy(policy) => Decider::new(policy, &description["parameters"]),
            _ => None,
        }
    }

    fn role(&self) -> Role {
        Role::Policy
    }

    fn part(&self) -> &dyn Part {
        self
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        self
    }

    /// Each goes on with its own draws.
    fn seeds(&self) -> Seeds {
        Seeds::Any
    }
}

impl Held<Decider> {
    /// The label of a code.
    #[inline]
    pub fn action(&self, code: u32) -> Option<&Label> {
        self.part.state.actions.label(code)
    }

    /// All actions that it knows.
    pub fn actions(&self) -> impl Iterator<Item = &Label> {
        self.part.all.iter().filter_map(|&code| self.part.state.actions.label(code))
    }

    /// Number of decisions that wait for their rewards.
    pub fn pending(&self) -> u64 {
        self.part.state.open.waiting()
    }

    /// Number of decisions that were given up without a reward.
    pub fn dropped(&self) -> u64 {
        self.part.state.open.dropped()
    }

    /// Number of actions that made room for others.
    pub fn forgotten(&self) -> u64 {
        self.part.state.forgotten
    }

    /// The decisions that wait: id, action and probability.
    pub fn open(&self) -> impl Iterator<Item = (u64, Option<&Label>, f64)> {
        let actions = &self.part.state.actions;
        self.part.state.open.iter().map(|(id, open)| (id, actions.label(open.action), open.chance.value()))
    }

    /// The probabilities of some actions in their order, or of all that it knows.
    pub fn probabilities(&self, actions: Option<&[Given<'_>]>) -> Result<Vec<f64>> {
        self.part.probabilities(actions).map_err(|fault| fault.by(&self.title))
    }

    /// Choose one of some actions, or of all that it knows, and wait for its reward.
    #[inline]
    pub fn decide(&mut self, actions: Option<&[Given<'_>]>) -> Result<Decision> {
        self.part.decide(actions).map_err(|fault| fault.by(&self.title))
    }

    /// Choose an action without waiting for its reward: the code of the action.
    #[inline]
    pub fn pull(&mut self, actions: Option<&[Given<'_>]>) -> Result<u32> {
        self.part.pull(actions).map_err(|fault| fault.by(&self.title))
    }

    /// Learn the reward of a decision.
    #[inline]
    pub fn learn(&mut self, id: u64, reward: f64) -> Result<()> {
        self.part.learn(id, reward).map_err(|fault| fault.by(&self.title))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Learn the reward of an action that was taken elsewhere, with this probability if it is known.
    pub fn learn_action(&mut self, action: Given<'_>, reward: f64, probability: Option<f64>) -> Result<()> {
        self.part.learn_action(action, reward, probability).map_err(|fault| fault.by(&self.title))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Forget an action, and drop its decisions that wait.
    pub fn forget_action(&mut self, action: Given<'_>) -> Result<()> {
        let Some(code) = self.part.state.actions.code(action) else {
            let unknown = Fault::value(format!("no action {} to forget", action.label()));
            return Err(unknown.by(&self.title));
        };
        self.part.forget(code);
        self.part.list_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held;

    fn policy(parameters: Json) -> held::Policy {
        let description = json!({ "name": "bandit.EpsilonGreedy", "parameters": parameters });
        held::Policy::new(&description).expect("it is declared")
    }

    fn bytes(policy: &held::Policy) -> Vec<u8> {
        policy.save().expect("a state")
    }

    #[test]
    fn a_late_reward_goes_to_its_action() {
        let mut policy = policy(json!({ "actions": ["a", "b"], "epsilon": 1.0 }));
        let decisions: Vec<Decision> = (0..4).map(|_| policy.decide(None).unwrap()).collect();
        assert_eq!((policy.pending(), decisions[3].id, decisions[0].chance.value()), (4, 3, 0.5));
        for decision in decisions.iter().rev() {
            policy.learn(decision.id, f64::from(decision.action)).unwrap();
        }
        let shown = policy.inspect();
        let means: Vec<f64> = serde_json::from_value(shown["means"].clone()).unwrap();
        assert!(means.iter().enumerate().all(|(code, &mean)| mean == code as f64), "{shown}");
        let before = bytes(&policy);
        let fault = policy.learn(2, 1.0).unwrap_err();
        let words = "bandit.EpsilonGreedy: decision 2 has its reward already, or its action was forgotten";
        assert_eq!((fault.message(), bytes(&policy)), (words, before));
    }

    #[test]
    fn actions_make_room_for_others() {
        let mut policy = policy(json!({ "max_actions": 2, "epsilon": 1.0 }));
        policy.learn_action(Given::Int(1), 5.0, None).unwrap();
        let decision = policy.decide(Some(&[Given::Int(1), Given::Int(2)])).unwrap();
        policy.decide(Some(&[Given::Int(2)])).unwrap();
        // The third action takes the place of the first, whose decisions are dropped.
        policy.learn_action(Given::Int(3), 7.0, Some(0.5)).unwrap();
        assert_eq!(policy.forgotten(), 1);
        assert_eq!(policy.inspect()["means"], json!([7.0, null]));
        let left = 2 - u64::from(decision.action == 0);
        assert_eq!((policy.pending(), policy.dropped()), (left, 2 - left));
        let fault = policy.decide(Some(&[1, 2, 3].map(Given::Int))).unwrap_err();
        let words = "bandit.EpsilonGreedy: there can be 2 actions at most, got 3 (raise max_actions)";
        assert_eq!(fault.message(), words);
    }

    #[test]
    fn bad_lists_rewards_and_probabilities_change_nothing() {
        let mut policy = policy(json!({ "actions": ["a", "b"] }));
        policy.decide(None).unwrap();
        let before = bytes(&policy);
        let (a, new) = (Given::Text("a"), Given::Text("new"));
        for list in [&[][..], &[a, a], &[new, a, new], &[Given::Int(1), Given::Bool(true)]] {
            assert!(policy.decide(Some(list)).is_err());
            assert!(policy.probabilities(Some(list)).is_err());
        }
        for reward in [f64::NAN, f64::INFINITY, 1e101] {
            assert!(policy.learn(0, reward).is_err());
            assert!(policy.learn_action(new, reward, None).is_err());
        }
        for probability in [0.0, -0.5, 1.5, f64::NAN] {
            assert!(policy.learn_action(new, 1.0, Some(probability)).is_err());
        }
        assert_eq!(bytes(&policy), before);
    }
}
