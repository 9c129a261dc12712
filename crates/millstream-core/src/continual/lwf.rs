//! Learning without forgetting (Li and Hoiem, 2016): a copy of the network at the end of the last task, the *teacher*,
//! says what the present network should still answer for the classes of that time:
//!
//! ```text
//! loss = −ln P(y) + λ T² KL(softmax(z°/T) ‖ softmax(z/T))   over the teacher's classes,
//! ∂/∂zₖ of the second term = λ T (softmax(z/T)ₖ − softmax(z°/T)ₖ)
//! ```
//! with the teacher's scores z° and temperature T (Hinton, Vinyals and Dean, 2015). It stores no rows.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::linear_model::softmax_regression::softmax;
use crate::merging::Merge;
use crate::neural_network::classifier_network::{cross_entropy, ClassifierNetwork, State as NetworkState};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{Row, Scratch};

use super::guided::{build, Method, MODEL, PERIOD};

const NAME: &str = "continual.LwF";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Learning without forgetting: a network that keeps the answers of its earlier self",
    merge: Merge::none(
        "hidden units of separate networks do not correspond to each other: learn all tasks with one model",
    ),
    parameters: &[
        MODEL,
        Parameter::new(
            "strength",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "factor of the loss for answers that differ from those of the earlier network",
        ),
        Parameter::new(
            "temperature",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(2.0),
            "divisor of the scores that are compared; higher values weight small probabilities more",
        ),
        PERIOD,
    ],
    build: |arguments| {
        let (strength, temperature) = (arguments.float("strength")?, arguments.float("temperature")?);
        build(arguments, Lwf { strength, temperature, teacher: None, taught: Vec::new(), ours: Vec::new() })
    },
};

#[derive(Clone)]
struct Lwf {
    strength: f64,
    temperature: f64,
    teacher: Option<Box<ClassifierNetwork>>,
    /// Probabilities of the teacher and of the network, at the temperature.
    taught: Vec<f64>,
    ours: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    teacher: Option<NetworkState>,
}

impl Method for Lwf {
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
        let Lwf { strength, temperature, teacher, taught, ours } = self;
        taught.clear();
        if let Some(teacher) = teacher {
            teacher.scores(x, taught, scratch);
            taught.iter_mut().for_each(|score| *score /= *temperature);
            softmax(taught);
        }
        network.add_gradient(x, scratch, |scores| {
            ours.clear();
            // Classes that the teacher has not met have score −∞ in it; they are not compared.
            let known = scores.iter().zip(taught.iter());
            ours.extend(known.map(|(z, p)| if *p > 0.0 { z / *temperature } else { f64::NEG_INFINITY }));
            cross_entropy(scores, y, w);
            if !ours.is_empty() {
                softmax(ours);
                let factor = *strength * *temperature * w;
                for ((slope, ours), taught) in scores.iter_mut().zip(ours.iter()).zip(taught.iter()) {
                    *slope += factor * (ours - taught);
                }
            }
        })
    }

    fn end_task(&mut self, network: &mut ClassifierNetwork) {
        let mut teacher = network.clone();
        teacher.clear_gradient();
        self.teacher = Some(Box::new(teacher));
    }

    fn save(&self) -> State {
        State { teacher: self.teacher.as_ref().map(|teacher| teacher.state.clone()) }
    }

    fn load(&mut self, state: State, network: &ClassifierNetwork) -> Result<()> {
        self.teacher = match state.teacher {
            None => None,
            Some(state) => {
                let mut teacher = Box::new(network.clone());
                teacher.adopt(state)?;
                Some(teacher)
            }
        };
        Ok(())
    }

    fn memory(&self) -> usize {
        self.teacher.as_ref().map_or(0, |teacher| teacher.memory())
            + 8 * (self.taught.capacity() + self.ours.capacity())
    }

    fn inspect(&self) -> Json {
        json!({ "has_teacher": self.teacher.is_some() })
    }
}
