//! Restart a policy when a drift detector finds that rewards have changed.
//!
//! Each action has a copy of the detector, which receives its rewards. When one finds a change, the policy forgets all actions,
//! or that action alone (the global and local restarts of Besson, Kaufmann, Maillard and Seznec, 2022, Journal of Machine
//! Learning Research 23). A share of uniform draws finds changes of actions that the policy does not take (Liu, Lee and
//! Shroff, 2018, AAAI, "A change-detection based framework for piecewise-stationary multi-armed bandit problem").

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::means::mix_with_uniform;
use super::{ACTIONS, MAX_ACTIONS, MAX_PENDING, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::detector::DriftDetector;
use crate::fault::{Fault, Result};
use crate::held::state::{pack_around, require, unpack, Packed};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::part::{InnerDetector, Part};
use crate::policy::{Chance, Feedback, Policy};
use crate::schema::Schema;

const NAME: &str = "bandit.Restart";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "A policy that forgets when a drift detector finds that rewards have changed",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new("policy", Kind::Part(&[Role::Policy]), Default::Required, "policy to restart"),
        Parameter::new(
            "detector",
            Kind::Part(&[Role::DriftDetector]),
            Default::Part("drift.ADWIN"),
            "drift detector; each action has a copy, which receives its rewards",
        ),
        Parameter::new(
            "restart",
            Kind::Choice(&["all", "action"]),
            Default::Text("all"),
            "what is forgotten after a change: all actions, or the action whose rewards have changed",
        ),
        Parameter::new(
            "exploration",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.05),
            "share of uniform draws, which find changes of actions that the policy does not take",
        ),
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (Built::Policy(fresh), Built::DriftDetector(mut detector)) =
            (arguments.part("policy")?, arguments.part("detector")?)
        else {
            return Err(arguments.absent("policy"));
        };
        if arguments.value("policy")?["name"] == NAME {
            return Err(Fault::wrong_type(format!("{NAME}: policy must be another policy, got a Restart")));
        }
        detector.disable_warnings();
        let (all, exploration) = (arguments.text("restart")? == "all", arguments.float("exploration")?);
        let policy = fresh.duplicate();
        let restarts = 0;
        Ok(Built::Policy(Box::new(Restart {
            fresh,
            policy,
            detector,
            detectors: Vec::new(),
            restarts,
            all,
            exploration,
        })))
    },
};

struct Restart {
    /// The policy without rewards, and the detector without values.
    fresh: Box<dyn Policy>,
    detector: Box<dyn DriftDetector>,
    policy: Box<dyn Policy>,
    /// By code; none for an action without rewards since the last restart.
    detectors: Vec<Option<Box<dyn DriftDetector>>>,
    restarts: u64,
    all: bool,
    exploration: f64,
}

impl Clone for Restart {
    fn clone(&self) -> Self {
        let copy =
            |detector: &Option<Box<dyn DriftDetector>>| detector.as_ref().map(|detector| detector.duplicate());
        Restart {
            fresh: self.fresh.duplicate(),
            detector: self.detector.duplicate(),
            policy: self.policy.duplicate(),
            detectors: self.detectors.iter().map(copy).collect(),
            ..*self
        }
    }
}

#[derive(Serialize, Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    policy: Packed<'a>,
    #[serde(borrow)]
    detectors: Vec<Option<Packed<'a>>>,
    restarts: u64,
}

impl Part for Restart {
    fn save(&self) -> Result<Vec<u8>> {
        let policy = self.policy.save()?;
        let detectors =
            self.detectors.iter().map(|detector| detector.as_ref().map(|detector| detector.save()).transpose());
        let detectors = detectors.collect::<Result<Vec<_>>>()?;
        let length = policy.len() + detectors.iter().flatten().map(Vec::len).sum::<usize>();
        let detectors = detectors.into_iter().map(|detector| detector.map(Packed::from)).collect();
        pack_around(&State { policy: policy.into(), detectors, restarts: self.restarts }, length)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State<'_> = unpack(NAME, bytes)?;
        require(NAME, state.detectors.len() <= 1 << 24, "there are too many detectors")?;
        let mut policy = self.fresh.duplicate();
        policy.load(&state.policy)?;
        let revive = |saved: &Option<Packed<'_>>| {
            let Some(saved) = saved else { return Ok(None) };
            let mut detector = self.detector.duplicate();
            detector.load(saved)?;
            Ok(Some(detector))
        };
        self.detectors = state.detectors.iter().map(revive).collect::<Result<Vec<_>>>()?;
        (self.policy, self.restarts) = (policy, state.restarts);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.policy);
        self.detectors.iter().flatten().for_each(|detector| visit(&**detector));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.policy);
        self.detectors.iter_mut().flatten().for_each(|detector| visit(&mut **detector));
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "restarts": self.restarts, "policy": self.policy.inspect(schema) })
    }

    fn detector(&self, parameter: &str) -> Option<InnerDetector> {
        (parameter == "detector").then(|| InnerDetector { part: self.detector.duplicate(), updates: 0 })
    }
}

impl Policy for Restart {
    fn reward_range(&self) -> Option<(f64, f64)> {
        self.policy.reward_range()
    }

    fn uses_probability(&self) -> bool {
        self.policy.uses_probability()
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        self.policy.probabilities(actions, out);
        mix_with_uniform(out, self.exploration);
    }

    fn draw(&self, actions: &[u32], random: &mut Random, spare: &mut Vec<f64>) -> usize {
        match self.exploration > 0.0 && random.chance(self.exploration) {
            true => random.below(actions.len() as u32) as usize,
            false => self.policy.draw(actions, random, spare),
        }
    }

    fn draw_with_probability(
        &self,
        actions: &[u32],
        random: &mut Random,
        spare: &mut Vec<f64>,
    ) -> (usize, Chance) {
        if self.exploration == 0.0 {
            return self.policy.draw_with_probability(actions, random, spare);
        }
        let index = self.draw(actions, random, spare);
        self.probabilities(actions, spare);
        (index, Chance::Known(spare[index]))
    }

    fn check_reward(&self, reward: f64) -> Result<()> {
        self.policy.check_reward(reward)
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        let index = feedback.action as usize;
        let found = match self.detectors.get_mut(index).and_then(Option::as_mut) {
            Some(detector) => {
                detector.update(feedback.reward)?;
                detector.verdict().drift
            }
            None => {
                let mut detector = self.detector.duplicate();
                detector.update(feedback.reward)?;
                let found = detector.verdict().drift;
                if self.detectors.len() <= index {
                    self.detectors.resize_with(index + 1, || None);
                }
                self.detectors[index] = Some(detector);
                found
            }
        };
        // The policy refuses no reward that it has checked.
        self.policy.learn(feedback)?;
        if found {
            self.restarts += 1;
            if self.all {
                self.policy = self.fresh.duplicate();
                self.detectors.clear();
            } else {
                self.forget(feedback.action);
            }
        }
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        self.policy.forget(action);
        if let Some(detector) = self.detectors.get_mut(action as usize) {
            *detector = None;
        }
    }

    fn estimate(&self, action: u32) -> (f64, Option<f64>) {
        self.policy.estimate(action)
    }

    fn duplicate(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{learn, near, probabilities};

    fn restart(restart: &str) -> Box<dyn Policy> {
        let description = json!({ "name": NAME, "parameters": {
            "policy": { "name": "bandit.UCB1", "parameters": { "exploration": 0.0 } },
            "detector": { "name": "drift.PageHinkley", "parameters": { "threshold": 5.0, "grace_period": 10, "allowance": 0.0 } },
            "restart": restart, "exploration": 0.2,
        }});
        match crate::registry::build_resolved(&crate::registry::resolve(&description).unwrap()).unwrap() {
            Built::Policy(policy) => policy,
            _ => unreachable!("it is declared as a policy"),
        }
    }

    #[test]
    fn a_change_restarts_the_policy() {
        // Action 0 pays 0 and action 1 pays 0.3; a fifth of the draws is uniform. Then action 0 pays 1.
        for (which, others) in [("all", 0.0), ("action", 100.0)] {
            let mut policy = restart(which);
            learn(&mut *policy, 2, 0.5, &[[(0, 0.0), (1, 0.3)]; 100].concat());
            near(&probabilities(&*policy, &[0, 1]), &[0.1, 0.9], 1e-12);
            let mut needed = 0;
            while policy.inspect(&Schema::default())["restarts"] == 0 && needed < 50 {
                learn(&mut *policy, 2, 0.5, &[(0, 1.0)]);
                needed += 1;
            }
            assert!((1..50).contains(&needed), "{needed}");
            assert_eq!((policy.estimate(0).0, policy.estimate(1).0), (0.0, others));
        }
    }
}
