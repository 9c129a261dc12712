//! A network of classes whose steps are guided by a method against forgetting: one wrapper, with a method in each file.
//!
//! For an example, the method adds gradients to the network's (`add`), the network takes a step down their sum, and the
//! method reads what happened and may pull the parameters (`after`). Parameters keep their block and index when features
//! and classes are added, so that a method can store numbers beside them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{learn_each, Learner};
use crate::neural_network::classifier_network::{cross_entropy, ClassifierNetwork, State as NetworkState};
use crate::numeric::magnitude::check_row;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes};

use super::buffer::Buffer;

pub const MODEL: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::Classifier]),
    DefaultValue::Part("neural_network.MLPClassifier"),
    "network: neural_network.MLPClassifier",
);
pub const PERIOD: Parameter = Parameter::new(
    "period",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(0),
    "number of examples after which a task ends by itself; 0: only when end_task is called",
);

pub trait Method: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    type State: Serialize + DeserializeOwned;

    /// Add all gradients of an example to those of the network; false if one is not finite.
    fn add(
        &mut self,
        network: &mut ClassifierNetwork,
        x: Row<'_>,
        y: usize,
        w: f64,
        scratch: &mut Scratch,
    ) -> bool {
        let _ = &self;
        network.add_gradient(x, scratch, |scores| cross_entropy(scores, y, w))
    }

    /// The example was refused: return to the state before `add`.
    fn forget_example(&mut self) {}

    /// The step was taken; the gradient is still there. Cannot fail.
    fn after(&mut self, _network: &mut ClassifierNetwork, _x: Row<'_>, _y: u32, _w: f64) {}

    /// The stored rows, which a savepoint does not copy. All else that changes with an example is in the network.
    fn buffer(&mut self) -> Option<&mut Buffer> {
        None
    }

    /// A task has ended.
    fn end_task(&mut self, _network: &mut ClassifierNetwork) {}
    /// Whether the end of a task means anything to it.
    const ENDS_TASKS: bool;

    fn save(&self) -> Self::State;
    /// Adopt a saved state, if it fits the network.
    fn load(&mut self, state: Self::State, network: &ClassifierNetwork) -> Result<()>;
    fn memory(&self) -> usize;
    fn inspect(&self) -> Json;
}

/// A learner around the network of the parameter `model`.
pub fn build<M: Method>(arguments: &Arguments<'_>, method: M) -> Result<Built> {
    let model = arguments.learner::<Classes>("model")?;
    let Some(network) = model.network() else {
        return Err(Fault::value(format!(
            "{}: model must be neural_network.MLPClassifier, whose gradient it guides, got {}; put other steps of a \
             pipeline before {}",
            arguments.who,
            arguments.value("model")?["name"].as_str().unwrap_or("another model"),
            M::NAME,
        )));
    };
    let period = match M::ENDS_TASKS {
        true => arguments.integer("period")? as u64,
        false => 0,
    };
    let mut network = network.clone();
    network.who = M::NAME;
    Ok(Built::Classifier(Box::new(Guided { network, method, period, since: 0, tasks: 0, at_savepoint: None })))
}

#[derive(Clone)]
struct Guided<M: Method> {
    network: ClassifierNetwork,
    method: M,
    period: u64,
    /// Number of examples since a task has ended, and number of ended tasks.
    since: u64,
    tasks: u64,
    /// The network, `since` and `tasks` at a savepoint of a method with a buffer.
    at_savepoint: Option<Box<(ClassifierNetwork, u64, u64)>>,
}

#[derive(Serialize, Deserialize)]
struct State {
    network: NetworkState,
    method: ByteBuf,
    since: u64,
    tasks: u64,
}

impl<M: Method> Part for Guided<M> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            network: self.network.state.clone(),
            method: ByteBuf::from(pack(&self.method.save())?),
            since: self.since,
            tasks: self.tasks,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { network: saved, method, since, tasks } = unpack(M::NAME, bytes)?;
        let mut network = self.network.clone();
        network.adopt(saved)?;
        self.method.load(unpack(M::NAME, &method)?, &network)?;
        (self.network, self.since, self.tasks) = (network, since, tasks);
        Ok(())
    }

    fn memory(&self) -> usize {
        self.network.memory() + self.method.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn savepoint(&mut self) -> bool {
        let Some(buffer) = self.method.buffer() else { return false };
        buffer.savepoint();
        self.at_savepoint = Some(Box::new((self.network.clone(), self.since, self.tasks)));
        true
    }

    fn rollback(&mut self) {
        if let Some(before) = self.at_savepoint.take() {
            (self.network, self.since, self.tasks) = *before;
            if let Some(buffer) = self.method.buffer() {
                buffer.rollback();
            }
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        if let Some(buffer) = self.method.buffer() {
            buffer.commit();
        }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        json!({ "tasks": self.tasks, "method": self.method.inspect(), "network": self.network.inspect(schema) })
    }

    fn scalars(&self) -> Json {
        json!({ "tasks": self.tasks, "method": self.method.inspect(), "network": self.network.scalars() })
    }
}

/// A stored row with a larger number would make each later step too large, which is refused.
const LARGEST_INPUT: f64 = 1e25;

impl<M: Method> Learner<Classes> for Guided<M> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.network.predict(x, want, out, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        check_row(M::NAME, x, LARGEST_INPUT)?;
        let network = &mut self.network;
        let growth = network.grow(x, y as usize)?;
        let sound = self.method.add(network, x, y as usize, w, scratch) && network.step_down();
        if !sound {
            network.clear_gradient();
            network.shrink(growth);
            self.method.forget_example();
            return Err(Fault::overflow(M::NAME));
        }
        self.method.after(network, x, y, w);
        network.clear_gradient();
        self.since += 1;
        if self.since == self.period {
            self.end_task(scratch);
        }
        Ok(())
    }

    fn ends_tasks(&self) -> bool {
        M::ENDS_TASKS
    }

    fn end_task(&mut self, _scratch: &mut Scratch) {
        if self.since > 0 {
            self.method.end_task(&mut self.network);
            self.since = 0;
            self.tasks += 1;
        }
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        learn_each(self, batch, scratch)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

/// Numbers beside the parameters, in the same blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Beside(pub Vec<Vec<f64>>);

impl Beside {
    /// Make room for all parameters; new numbers are 0.
    pub fn fit(&mut self, network: &ClassifierNetwork) {
        let count = network.sizes().len();
        self.0.resize(count, Vec::new());
        for (block, size) in self.0.iter_mut().zip(network.sizes()) {
            block.resize(size, 0.0);
        }
    }

    /// Become a copy of the parameters.
    pub fn copy(&mut self, network: &ClassifierNetwork) {
        self.0.resize(network.state.blocks.len(), Vec::new());
        for (copy, block) in self.0.iter_mut().zip(&network.state.blocks) {
            copy.clear();
            copy.extend_from_slice(block.values());
        }
    }

    pub fn validate(&self, who: &str, network: &ClassifierNetwork, low: f64) -> Result<()> {
        let fits = self.0.is_empty()
            || self.0.len() == network.sizes().len()
                && self.0.iter().zip(network.sizes()).all(|(block, size)| block.len() <= size);
        let sound = self.0.iter().flatten().all(|number| number.is_finite() && *number >= low);
        require(who, fits && sound, "numbers beside the weights are not valid")
    }

    pub fn memory(&self) -> usize {
        self.0.iter().map(|block| 24 + 8 * block.capacity()).sum()
    }
}

/// The proximal step of the penalty ½ Σ strength (θ − anchor)²: θ ← anchor + (θ − anchor) / (1 + rate · strength). Unlike a
/// step down its gradient, which diverges for rate · strength above 2, it lies between θ and the anchor for any strength.
pub fn pull(network: &mut ClassifierNetwork, rate: f64, strengths: &Beside, anchors: &Beside) {
    network.each_block_mut(|index, block| {
        let (Some(strengths), Some(anchors)) = (strengths.0.get(index), anchors.0.get(index)) else { return };
        for ((theta, strength), anchor) in block.iter_mut().zip(strengths).zip(anchors) {
            let pulled = anchor + (*theta - anchor) / (1.0 + rate * strength);
            if pulled.is_finite() {
                *theta = pulled;
            }
        }
    });
}
