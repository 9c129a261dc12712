//! Synaptic intelligence (Zenke, Poole and Ganguli, 2017): the importance of a parameter is its part in the decrease of the
//! loss along the path of a task, relative to the square of the distance that it moved:
//!
//! ```text
//! ω ← ω − g Δθ  at each step,   Ω ← Ω + max(ω, 0) / ((θ − θ*)² + ξ),  ω ← 0,  θ* ← θ  at the end of a task   (eq. 5)
//! loss = −ln P(y) + c Σ Ω (θ − θ*)²                                                                          (eq. 4)
//! ```
//! The penalty is a proximal step: see `guided::pull`. Negative ω, of parameters that raised the loss, count as 0.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::neural_network::classifier_network::{cross_entropy, ClassifierNetwork};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{Row, Scratch};

use super::guided::{build, pull, Beside, Method, MODEL, PERIOD};

const NAME: &str = "continual.SI";
/// No importance is larger.
const LARGEST: f64 = 1e200;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Synaptic intelligence: a network whose weights are held by their part in learning earlier tasks",
    merge: Merge::none(
        "hidden units of separate networks do not correspond to each other: learn all tasks with one model",
    ),
    parameters: &[
        MODEL,
        Parameter::new(
            "strength",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "factor of the penalty for changing important weights",
        ),
        Parameter::new(
            "damping",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(0.1),
            "added to the squared distance that a weight has moved",
        ),
        PERIOD,
    ],
    build: |arguments| {
        let (strength, damping) = (arguments.float("strength")?, arguments.float("damping")?);
        let (pulls, before) = (Beside::default(), Beside::default());
        build(arguments, Si { strength, damping, state: State::default(), pulls, before })
    },
};

#[derive(Clone)]
struct Si {
    strength: f64,
    damping: f64,
    state: State,
    /// 2 · strength · importance
    pulls: Beside,
    /// The parameters before the step.
    before: Beside,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    importance: Beside,
    /// The parameters at the end of the last task, or when they were added.
    anchor: Beside,
    /// ω
    path: Beside,
}

impl Si {
    fn set_pulls(&mut self) {
        self.pulls.clone_from(&self.state.importance);
        let factor = 2.0 * self.strength;
        self.pulls.0.iter_mut().flatten().for_each(|number| *number = (*number * factor).min(f64::MAX));
    }
}

impl Method for Si {
    const NAME: &'static str = NAME;
    const ENDS_TASKS: bool = true;
    type State = State;

    fn add(
        &mut self,
        network: &mut ClassifierNetwork,
        x: Row<'_>,
        y: usize,
        w: f64,
        scratch: &mut Scratch,
    ) -> bool {
        self.before.copy(network);
        network.add_gradient(x, scratch, |scores| cross_entropy(scores, y, w))
    }

    fn after(&mut self, network: &mut ClassifierNetwork, _x: Row<'_>, _y: u32, _w: f64) {
        let State { anchor, path, .. } = &mut self.state;
        anchor.0.resize(self.before.0.len(), Vec::new());
        for (anchor, before) in anchor.0.iter_mut().zip(&self.before.0) {
            let known = anchor.len();
            anchor.extend_from_slice(&before[known..]);
        }
        if !self.pulls.0.is_empty() {
            pull(network, network.rate(), &self.pulls, anchor);
        }
        path.fit(network);
        network.each_gradient(|block, start, numbers| {
            let range = start..start + numbers.len();
            let now = &network.state.blocks[block].values()[range.clone()];
            let moved = now.iter().zip(&self.before.0[block][range.clone()]).map(|(now, before)| now - before);
            for ((path, g), moved) in path.0[block][range].iter_mut().zip(numbers).zip(moved) {
                *path = (*path - g * moved).clamp(-LARGEST, LARGEST);
            }
        });
    }

    fn end_task(&mut self, network: &mut ClassifierNetwork) {
        let State { importance, anchor, path } = &mut self.state;
        importance.fit(network);
        path.fit(network);
        for (index, block) in network.state.blocks.iter().enumerate() {
            let rows = importance.0[index].iter_mut().zip(&mut path.0[index]).zip(&anchor.0[index]);
            for (((importance, path), anchor), theta) in rows.zip(block.values()) {
                let moved = theta - anchor;
                *importance = (*importance + path.max(0.0) / (moved * moved + self.damping)).min(LARGEST);
                *path = 0.0;
            }
        }
        anchor.copy(network);
        self.set_pulls();
    }

    fn save(&self) -> State {
        self.state.clone()
    }

    fn load(&mut self, state: State, network: &ClassifierNetwork) -> Result<()> {
        state.importance.validate(NAME, network, 0.0)?;
        state.anchor.validate(NAME, network, f64::MIN)?;
        state.path.validate(NAME, network, f64::MIN)?;
        self.state = state;
        self.pulls = Beside::default();
        if !self.state.importance.0.is_empty() {
            self.set_pulls();
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { importance, anchor, path } = &self.state;
        [importance, anchor, path, &self.pulls, &self.before].iter().map(|beside| beside.memory()).sum()
    }

    fn inspect(&self) -> Json {
        let largest = self.state.importance.0.iter().flatten().copied().fold(0.0, f64::max);
        json!({ "largest_importance": largest })
    }
}
