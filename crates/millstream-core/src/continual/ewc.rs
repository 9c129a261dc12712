//! Elastic weight consolidation (Kirkpatrick and others, 2017), online (Schwarz and others, 2018; Huszár, 2018): at the end
//! of a task the parameters become an anchor, and the mean squared gradient of the task's examples, the diagonal of the
//! empirical Fisher information, is added to a decaying sum:
//!
//! ```text
//! F ← γ F + 1/n Σ g²,  θ* ← θ,   loss = −ln P(y) + λ/2 Σ F (θ − θ*)²
//! ```
//! The gradient of the penalty diverges once λ η F exceeds 2, so its step is proximal: see `guided::pull`. The Fisher
//! information is that of the gradients as they were when each example was learned, with its true class.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::merging::Merge;
use crate::neural_network::classifier_network::ClassifierNetwork;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::Row;

use super::guided::{build, pull, Beside, Method, MODEL, PERIOD};

const NAME: &str = "continual.EWC";
/// No importance is larger.
const LARGEST: f64 = 1e200;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Elastic weight consolidation: a network whose important weights are held near those of earlier tasks",
    merge: Merge::none(
        "hidden units of separate networks do not correspond to each other: learn all tasks with one model",
    ),
    parameters: &[
        MODEL,
        Parameter::new(
            "strength",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(100.0),
            "factor of the penalty for changing important weights",
        ),
        Parameter::new(
            "decay",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.9),
            "factor of the importance from earlier tasks at the end of a task",
        ),
        PERIOD,
    ],
    build: |arguments| {
        let (strength, decay) = (arguments.float("strength")?, arguments.float("decay")?);
        build(arguments, Ewc { strength, decay, state: State::default(), pulls: Beside::default() })
    },
};

#[derive(Clone)]
struct Ewc {
    strength: f64,
    decay: f64,
    state: State,
    /// strength · importance
    pulls: Beside,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    importance: Beside,
    anchor: Beside,
    /// Σ g² of the present task, and the number of its examples.
    squares: Beside,
    examples: f64,
}

impl Ewc {
    fn set_pulls(&mut self) {
        self.pulls.clone_from(&self.state.importance);
        self.pulls.0.iter_mut().flatten().for_each(|number| *number = (*number * self.strength).min(f64::MAX));
    }
}

impl Method for Ewc {
    const NAME: &'static str = NAME;
    const ENDS_TASKS: bool = true;
    type State = State;

    fn after(&mut self, network: &mut ClassifierNetwork, _x: Row<'_>, _y: u32, _w: f64) {
        let State { squares, examples, .. } = &mut self.state;
        squares.fit(network);
        network.each_gradient(|block, start, numbers| {
            let sums = &mut squares.0[block][start..start + numbers.len()];
            sums.iter_mut().zip(numbers).for_each(|(sum, g)| *sum = (*sum + g * g).min(LARGEST));
        });
        *examples += 1.0;
        if !self.pulls.0.is_empty() {
            pull(network, network.rate(), &self.pulls, &self.state.anchor);
        }
    }

    fn end_task(&mut self, network: &mut ClassifierNetwork) {
        let State { importance, anchor, squares, examples } = &mut self.state;
        importance.fit(network);
        squares.fit(network);
        let count = examples.max(1.0);
        for (importance, square) in importance.0.iter_mut().flatten().zip(squares.0.iter_mut().flatten()) {
            *importance = (self.decay * *importance + *square / count).min(LARGEST);
            *square = 0.0;
        }
        *examples = 0.0;
        anchor.copy(network);
        self.set_pulls();
    }

    fn save(&self) -> State {
        self.state.clone()
    }

    fn load(&mut self, state: State, network: &ClassifierNetwork) -> Result<()> {
        state.importance.validate(NAME, network, 0.0)?;
        state.squares.validate(NAME, network, 0.0)?;
        state.anchor.validate(NAME, network, f64::MIN)?;
        require(NAME, state.examples.is_finite() && state.examples >= 0.0, "a count is not finite")?;
        self.state = state;
        self.pulls = Beside::default();
        if !self.state.importance.0.is_empty() {
            self.set_pulls();
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { importance, anchor, squares, .. } = &self.state;
        [importance, anchor, squares, &self.pulls].iter().map(|beside| beside.memory()).sum()
    }

    fn inspect(&self) -> Json {
        let largest = self.state.importance.0.iter().flatten().copied().fold(0.0, f64::max);
        json!({ "largest_importance": largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continual::guided::Beside;
    use crate::declaration::Built;
    use crate::registry;
    use crate::row::{Scratch, Want};
    use crate::task::ClassPrediction;

    /// θ = 3, anchor 1, rate · strength = 1: half of the way back, 2. With 10³⁰⁰ it is the anchor itself.
    #[test]
    fn a_pull_by_hand() {
        let description = registry::resolve(&json!({ "name": "neural_network.MLPClassifier" })).unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model.learn(Row::Plain(&[]), 0, 1.0, &mut Scratch::default()).unwrap();
        let mut network = model.network().unwrap().clone();
        for (strength, wanted) in [(4.0, 2.0), (1e300, 1.0)] {
            network.each_block_mut(|_, block| block.fill(3.0));
            let (mut strengths, mut anchors) = (Beside::default(), Beside::default());
            strengths.fit(&network);
            anchors.fit(&network);
            strengths.0.iter_mut().flatten().for_each(|number| *number = strength);
            anchors.0.iter_mut().flatten().for_each(|number| *number = 1.0);
            pull(&mut network, 0.25, &strengths, &anchors);
            assert!(network.state.blocks.iter().all(|block| block.values().iter().all(|w| *w == wanted)));
        }
    }

    /// The plain gradient of the penalty diverges for λ η F above 2; this stays finite far beyond 100.
    #[test]
    fn strong_penalties_stay_finite() {
        for strength in [1e3, 1e6, 1e12] {
            let description = registry::resolve(&json!({ "name": NAME, "parameters": {
                "strength": strength, "period": 50,
                "model": { "name": "neural_network.MLPClassifier", "parameters": {
                    "optimizer": { "name": "optim.SGD", "parameters": { "learning_rate": 0.1 } } } } } }))
            .unwrap();
            let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
            let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
            for index in 0..400u32 {
                let x = [f64::from(index % 7), f64::from(index % 3), 1.0];
                model.learn(Row::Plain(&x), (index / 100 + index % 2) % 4, 1.0, &mut scratch).unwrap();
            }
            model.predict(Row::Plain(&[1.0, 2.0, 1.0]), Want::Probabilities, &mut out, &mut scratch);
            assert!(out.probabilities.iter().all(|p| p.is_finite()), "{strength}: {:?}", out.probabilities);
        }
    }
}
