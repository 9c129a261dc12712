//! What linear and logistic regression share: one hyperplane that follows a loss downhill.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::fault::{Fault, Result};
use crate::losses::Loss;
use crate::optim::Features;
use crate::parameter::Arguments;
use crate::registry::Built;
use crate::row::{finite, Row, Scratch};
use crate::schema::Schema;
use crate::state::{pack, unpack};

use super::hyperplane::{Hyperplane, Settings};
use super::Coordinates;

#[derive(Clone, Debug)]
pub struct Linear {
    settings: Settings,
    pub loss: Loss,
    state: State,
    spare: Hyperplane,
    /// The coordinates as they were at `hold`.
    held: Option<Coordinates>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    hyperplane: Hyperplane,
}

impl Linear {
    /// Build from arguments with a `loss`, which must be for classes or for numbers.
    pub fn new(arguments: &Arguments<'_>, for_classes: bool) -> Result<Self> {
        let loss = match arguments.part("loss")? {
            Built::Loss(loss) if loss.for_classes() == for_classes => loss,
            _ => {
                return Err(Fault::value(format!(
                    "{}: loss must be one for {}, got {}",
                    arguments.who,
                    if for_classes { "classes" } else { "numbers" },
                    arguments.value("loss")?["name"].as_str().unwrap_or("another part"),
                )))
            }
        };
        let settings = Settings::new(arguments)?;
        let intercept = if settings.intercept_rate.is_some() { arguments.float("intercept_init")? } else { 0.0 };
        Ok(Linear {
            settings,
            loss,
            state: State { hyperplane: Hyperplane::new(intercept), ..State::default() },
            spare: Hyperplane::default(),
            held: None,
        })
    }

    /// Steps taken.
    pub fn steps(&self) -> f64 {
        self.state.hyperplane.t
    }

    /// The score to predict with.
    #[inline]
    pub fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let State { coordinates, hyperplane } = &self.state;
        match x {
            Row::Plain(values) if coordinates.direct(values) => hyperplane.score(Features::Dense(values)),
            Row::Sparse(x) if !coordinates.mapped() => hyperplane.score(Features::Sparse(x.indices, x.values)),
            _ => {
                let located = coordinates.locate(x, scratch);
                let score = hyperplane.score(located.features());
                located.release(scratch);
                score
            }
        }
    }

    /// One gradient step on the loss at (x, y).
    #[inline]
    pub fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take::<false>(x, y, w, scratch).map(drop)
    }

    /// The score to predict with, then one gradient step.
    #[inline]
    pub fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        // A dense sum over more coordinates is added up in another order: predict before there are more.
        if matches!(x, Row::Plain(values) if values.len() > self.state.coordinates.width()) {
            let score = self.score(x, scratch);
            self.learn(x, y, w, scratch)?;
            return Ok(score);
        }
        self.take::<true>(x, y, w, scratch)
    }

    #[inline]
    fn take<const PREDICT: bool>(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let before = self.state.coordinates.width();
        match x {
            Row::Plain(values) if self.state.coordinates.direct(values) => {
                if before < values.len() {
                    self.state.coordinates.grow(x);
                    self.grow();
                }
                self.state.hyperplane.weights.lie_apart();
                self.descend::<PREDICT>(Features::Dense(values), y, w).inspect_err(|_| self.shrink(before))
            }
            Row::Sparse(sparse) if !self.state.coordinates.mapped() => {
                if before < sparse.width {
                    self.state.coordinates.grow(x);
                    self.grow();
                }
                self.state.hyperplane.weights.lie_together();
                let features = Features::Sparse(sparse.indices, sparse.values);
                self.descend::<PREDICT>(features, y, w).inspect_err(|_| self.shrink(before))
            }
            _ => {
                self.state.coordinates.grow(x);
                self.grow();
                let located = self.state.coordinates.locate(x, scratch);
                let score = self.descend::<PREDICT>(located.features(), y, w).inspect_err(|_| self.shrink(before));
                located.release(scratch);
                score
            }
        }
    }

    fn grow(&mut self) {
        let State { coordinates, hyperplane } = &mut self.state;
        hyperplane.weights.grow(coordinates.width(), self.settings.optimizer.rule, self.settings.averaging);
    }

    fn shrink(&mut self, before: usize) {
        self.state.coordinates.shrink(before);
        self.state.hyperplane.weights.shrink(before);
    }

    /// The step itself; the score to predict with is only found if it is wanted.
    #[inline]
    fn descend<const PREDICT: bool>(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let hyperplane = &mut self.state.hyperplane;
        let at_weights = self.settings.optimizer.rule.look_ahead() == 0.0;
        let (fetched, score) = match features {
            Features::Sparse(indices, x) if at_weights => {
                (true, hyperplane.fetch_score(indices, x, &mut self.spare))
            }
            _ => (false, hyperplane.gradient_score(&self.settings, features)),
        };
        let predicted = match PREDICT {
            false => 0.0,
            true if self.settings.shares_score() => finite(score),
            true => hyperplane.score(features),
        };
        let slope = self.settings.clipped(self.loss.slope(y, score) * w);
        if !hyperplane.propose_from(&self.settings, features, slope, fetched, &mut self.spare) {
            return Err(Fault::overflow(&self.settings.who));
        }
        hyperplane.commit(features, &mut self.spare);
        Ok(predicted)
    }

    /// See `Part::hold`; likewise `restore` and `release`.
    pub fn hold(&mut self) {
        self.held = Some(self.state.coordinates.clone());
        self.state.hyperplane.hold();
    }

    pub fn restore(&mut self) {
        if let Some(coordinates) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.hyperplane.restore();
        }
    }

    pub fn release(&mut self) {
        self.held = None;
        self.state.hyperplane.weights.release();
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(&self.settings.who, bytes)?;
        state.coordinates.validate(&self.settings.who)?;
        state.hyperplane.validate(&self.settings, state.coordinates.width())?;
        self.state = state;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.state.hyperplane.weights.memory()
            + self.spare.weights.memory()
            + self.state.coordinates.memory()
    }

    pub fn inspect(&self, schema: &Schema) -> Json {
        self.state.hyperplane.inspect(&self.state.coordinates, schema)
    }
}
