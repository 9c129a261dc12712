//! Anomaly likelihood: how unusual the recent scores of a detector are among its scores before (Ahmad, Lavin, Purdy and
//! Agha, 2017, "Unsupervised real-time anomaly detection for streaming data", section 3.2).
//!
//! The raw score s of a row is averaged with the ones before it, and compared with a normal distribution of such averages:
//!
//! ```text
//! a_t = mean of the last `smoothing_window` scores s            eq. 5
//! L_t = 1 − Q((a_t − μ)/σ)                                      eq. 6
//! ```
//!
//! with Q the tail of the standard normal distribution. μ and σ² are those of the averages in a long window, estimated
//! anew every `refresh_interval` rows. The first `grace_period` averages are not among them: the detector is still learning
//! then. As in NuPIC, μ is at least 0.03 and σ² at least 0.0003, so that a detector that never errs has a distribution too.
//! L squeezes what matters into its last digits, so the score is by default log(1 − L + ε)/log(ε), ε = 10⁻¹⁰.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::numeric::error_function::normal_below;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Anomalies;

const NAME: &str = "htm.AnomalyLikelihood";
const EPSILON: f64 = 1e-10;
const LEAST_MEAN: f64 = 0.03;
const LEAST_VARIANCE: f64 = 0.0003;
/// Repeats of a likelihood above the first count as the second, as in NuPIC.
const RED: f64 = 1.0 - 1e-5;
const YELLOW: f64 = 0.999;
/// Raw scores are limited to this size, so that moments stay finite.
const LARGEST: f64 = 1e100;

pub const GRACE_PERIOD: Parameter = Parameter::new(
    "grace_period",
    Kind::Integer { low: 0, high: 1 << 40 },
    DefaultValue::Integer(288),
    "number of first rows whose scores are not part of the distribution",
);
pub const MIN_SAMPLES: Parameter = Parameter::new(
    "min_samples",
    Kind::Integer { low: 2, high: 1 << 24 },
    DefaultValue::Integer(100),
    "number of scores in the distribution before rows are scored",
);
pub const WINDOW_SIZE: Parameter = Parameter::new(
    "window_size",
    Kind::Integer { low: 2, high: 1 << 24 },
    DefaultValue::Integer(8640),
    "number of most recent scores that the distribution is estimated from",
);
pub const SMOOTHING_WINDOW: Parameter = Parameter::new(
    "smoothing_window",
    Kind::Integer { low: 1, high: 1 << 16 },
    DefaultValue::Integer(10),
    "number of scores that are averaged",
);
pub const REFRESH_INTERVAL: Parameter = Parameter::new(
    "refresh_interval",
    Kind::Integer { low: 1, high: 1 << 40 },
    DefaultValue::Integer(100),
    "number of rows between estimates of the distribution",
);
pub const SCALE: Parameter = Parameter::new(
    "scale",
    Kind::Choice(&["log", "likelihood", "raw"]),
    DefaultValue::Text("log"),
    "the score: logarithm of the likelihood, the likelihood, or the raw score",
);
pub const ONSETS_ONLY: Parameter = Parameter::new(
    "onsets_only",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether only the first of consecutive anomalies gets its full score",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::AnomalyDetector,
    words: "How unusual the recent scores of a detector are among its scores before",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "model",
            Kind::Part(&[Role::AnomalyDetector]),
            DefaultValue::Required,
            "anomaly detector with scores in [0, 1]",
        ),
        GRACE_PERIOD,
        MIN_SAMPLES,
        WINDOW_SIZE,
        SMOOTHING_WINDOW,
        REFRESH_INTERVAL,
        SCALE,
        ONSETS_ONLY,
    ],
    build: |arguments| {
        let model = arguments.learner::<Anomalies>("model")?;
        let likelihood = Likelihood::new(Settings::new(arguments)?);
        Ok(Built::AnomalyDetector(Box::new(AnomalyLikelihood { model, likelihood, undo: Undo::default() })))
    },
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Log,
    Likelihood,
    Raw,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub grace_period: u64,
    pub min_samples: usize,
    pub window_size: usize,
    pub smoothing_window: usize,
    pub refresh_interval: u64,
    pub scale: Scale,
    pub onsets_only: bool,
}

impl Settings {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let (min_samples, window_size) = (arguments.size("min_samples")?, arguments.size("window_size")?);
        if min_samples > window_size {
            return Err(crate::fault::Fault::value(format!(
                "{}: min_samples must be at most window_size, {window_size}, got {min_samples}",
                arguments.who
            )));
        }
        Ok(Settings {
            grace_period: arguments.size("grace_period")? as u64,
            min_samples,
            window_size,
            smoothing_window: arguments.size("smoothing_window")?,
            refresh_interval: arguments.size("refresh_interval")? as u64,
            scale: match arguments.text("scale")? {
                "raw" => Scale::Raw,
                "likelihood" => Scale::Likelihood,
                _ => Scale::Log,
            },
            onsets_only: arguments.boolean("onsets_only")?,
        })
    }
}

#[derive(Clone)]
pub struct Likelihood {
    settings: Settings,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    rows: u64,
    /// The raw scores that the next average has, oldest first.
    recent: VecDeque<f64>,
    /// Averages after the grace period, oldest first.
    averages: VecDeque<f64>,
    /// μ and σ, once there are enough averages, and how many rows were learned since.
    distribution: Option<(f64, f64)>,
    age: u64,
    /// Whether the last likelihood was that of an anomaly.
    was_red: bool,
}

/// What leads back to the state before the last row.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    learned: bool,
    oldest_recent: Option<f64>,
    oldest_average: Option<f64>,
    is_stored: bool,
    distribution: Option<(f64, f64)>,
    age: u64,
    was_red: bool,
}

impl Likelihood {
    pub fn new(settings: Settings) -> Self {
        Likelihood { settings, state: State::default() }
    }

    fn average(&self, raw: f64) -> f64 {
        let recent = &self.state.recent;
        let sum = recent.iter().sum::<f64>() + raw.clamp(-LARGEST, LARGEST);
        sum / (recent.len() + 1) as f64
    }

    /// 1 − L; none before there is a distribution.
    fn tail(&self, raw: f64) -> Option<f64> {
        let (mean, deviation) = self.state.distribution?;
        Some(normal_below(-(self.average(raw) - mean) / deviation))
    }

    /// The score of a row with this raw score; 0 before there is a distribution.
    pub fn score(&self, raw: f64) -> f64 {
        if self.settings.scale == Scale::Raw {
            return raw;
        }
        let Some(mut tail) = self.tail(raw) else { return 0.0 };
        if self.settings.onsets_only && self.state.was_red && tail <= 1.0 - RED {
            tail = 1.0 - YELLOW;
        }
        match self.settings.scale {
            Scale::Likelihood | Scale::Raw => 1.0 - tail,
            Scale::Log => (ln(tail + EPSILON) / ln(EPSILON)).max(0.0),
        }
    }

    pub fn learn(&mut self, raw: f64) {
        self.step(raw);
    }

    fn step(&mut self, raw: f64) -> Undo {
        let average = self.average(raw);
        let was_red = self.tail(raw).is_some_and(|tail| tail <= 1.0 - RED);
        let Likelihood { settings, state } = self;
        let mut undo = Undo {
            learned: true,
            distribution: state.distribution,
            age: state.age,
            was_red: state.was_red,
            ..Undo::default()
        };
        state.was_red = was_red;
        state.recent.push_back(raw.clamp(-LARGEST, LARGEST));
        if state.recent.len() >= settings.smoothing_window {
            undo.oldest_recent = state.recent.pop_front();
        }
        state.rows = state.rows.saturating_add(1);
        if state.rows > settings.grace_period {
            undo.is_stored = true;
            if state.averages.len() >= settings.window_size {
                undo.oldest_average = state.averages.pop_front();
            }
            state.averages.push_back(average);
            state.age = state.age.saturating_add(1);
            let is_due = state.distribution.is_none() || state.age >= settings.refresh_interval;
            if is_due && state.averages.len() >= settings.min_samples {
                state.distribution = Some(moments(&state.averages));
                state.age = 0;
            }
        }
        undo
    }

    fn revert(&mut self, undo: Undo) {
        let state = &mut self.state;
        if undo.is_stored {
            state.averages.pop_back();
            state.averages.extend(undo.oldest_average);
            state.averages.rotate_right(usize::from(undo.oldest_average.is_some()).min(state.averages.len()));
        }
        state.recent.pop_back();
        if let Some(oldest) = undo.oldest_recent {
            state.recent.push_front(oldest);
            // With a window of 1 the score itself was the oldest one.
            state.recent.truncate(self.settings.smoothing_window - 1);
        }
        state.rows -= 1;
        (state.distribution, state.age, state.was_red) = (undo.distribution, undo.age, undo.was_red);
    }

    pub fn save(&self) -> &State {
        &self.state
    }

    pub fn load(&mut self, who: &str, state: State) -> Result<()> {
        let settings = &self.settings;
        require(who, state.recent.len() < settings.smoothing_window.max(2), "too many recent scores")?;
        require(who, state.averages.len() <= settings.window_size, "too many averages")?;
        let sound = |number: &f64| number.abs() <= LARGEST;
        require(who, state.recent.iter().chain(&state.averages).all(sound), "a score is not finite")?;
        let positive =
            |(mean, deviation): (f64, f64)| mean.is_finite() && deviation.is_finite() && deviation > 0.0;
        require(who, state.distribution.is_none_or(positive), "the distribution is out of range")?;
        require(who, state.averages.len() as u64 <= state.rows, "averages and rows do not match")?;
        self.state = state;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        8 * (self.state.recent.capacity() + self.state.averages.capacity())
    }

    pub fn inspect(&self) -> serde_json::Value {
        let (mean, deviation) = self.state.distribution.unzip();
        json!({ "mean": mean, "deviation": deviation, "n_scores": self.state.averages.len() })
    }
}

/// Mean and standard deviation, with their lower limits.
fn moments(averages: &VecDeque<f64>) -> (f64, f64) {
    let n = averages.len() as f64;
    let mean = averages.iter().sum::<f64>() / n;
    let variance = averages.iter().map(|average| (average - mean).powi(2)).sum::<f64>() / n;
    (mean.max(LEAST_MEAN), variance.max(LEAST_VARIANCE).sqrt())
}

#[derive(Clone)]
struct AnomalyLikelihood {
    model: Box<dyn Learner<Anomalies>>,
    likelihood: Likelihood,
    undo: Undo,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    model: ByteBuf,
    likelihood: State,
}

impl Part for AnomalyLikelihood {
    fn save(&self) -> Result<Vec<u8>> {
        let model = ByteBuf::from(self.model.save()?);
        pack(&Saved { model, likelihood: self.likelihood.save().clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let saved: Saved = unpack(NAME, bytes)?;
        let mut likelihood = self.likelihood.clone();
        likelihood.load(NAME, saved.likelihood)?;
        self.model.load(&saved.model)?;
        (self.likelihood, self.undo) = (likelihood, Undo::default());
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.model);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.model);
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.model.memory() + self.likelihood.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_batches: false, ..self.model.abilities() }
    }

    fn infallible(&self) -> bool {
        self.model.infallible()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "likelihood": self.likelihood.inspect(), "model": self.model.inspect(schema) })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let part = Built::AnomalyDetector(self.model.duplicate());
        Ok((index == 0).then(|| Extracted { part, description: None, input: input.clone(), learned: None }))
    }
}

impl Learner<Anomalies> for AnomalyLikelihood {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut f64, scratch: &mut Scratch) {
        self.model.predict(x, want, out, scratch);
        *out = self.likelihood.score(*out);
    }

    fn learn(&mut self, x: Row<'_>, y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, Want::Class, &mut 0.0, scratch)
    }

    fn step(&mut self, x: Row<'_>, y: (), w: f64, want: Want, out: &mut f64, scratch: &mut Scratch) -> Result<()> {
        self.model.step(x, y, w, want, out, scratch)?;
        let raw = *out;
        *out = self.likelihood.score(raw);
        self.undo = self.likelihood.step(raw);
        Ok(())
    }

    fn undo(&mut self) {
        if std::mem::take(&mut self.undo.learned) {
            self.model.undo();
            self.likelihood.revert(self.undo);
        }
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            grace_period: 1,
            min_samples: 4,
            window_size: 6,
            smoothing_window: 2,
            refresh_interval: 3,
            scale: Scale::Likelihood,
            onsets_only: false,
        }
    }

    /// Scores 1, 0, 0.4, 0, 0.4 have averages of two: 1, 0.5, 0.2, 0.2, 0.2. Without the first, the mean is 1.1/4 = 0.275
    /// and the variance (0.225² + 3 · 0.075²)/4 = 0.016875. A score of 0.4 has average 0.4, so z = 0.125/0.129904 =
    /// 0.962250, L = 0.832038, and the logarithm is ln(0.167962)/ln(10⁻¹⁰) = 0.077479.
    #[test]
    fn one_step_worked_by_hand() {
        let mut likelihood = Likelihood::new(settings());
        for raw in [1.0, 0.0, 0.4, 0.0, 0.4] {
            assert_eq!(likelihood.score(raw), 0.0);
            likelihood.learn(raw);
        }
        let (mean, deviation) = likelihood.state.distribution.unwrap();
        assert!((mean - 0.275).abs() < 1e-12 && (deviation - 0.016875f64.sqrt()).abs() < 1e-12);
        assert!((likelihood.score(0.4) - 0.832_038).abs() < 1e-6, "{}", likelihood.score(0.4));
        likelihood.settings.scale = Scale::Log;
        assert!((likelihood.score(0.4) - 0.077_479).abs() < 1e-5, "{}", likelihood.score(0.4));
        likelihood.settings.scale = Scale::Raw;
        assert_eq!(likelihood.score(0.4), 0.4);
    }

    /// A detector that never errs: μ = 0.03 and σ = √0.0003. The average of 0 and 1 is 0.5, z = 27.1.
    #[test]
    fn constant_scores_have_a_distribution() {
        let mut likelihood = Likelihood::new(Settings { onsets_only: true, ..settings() });
        (0..20).for_each(|_| likelihood.learn(0.0));
        assert_eq!(likelihood.state.distribution, Some((0.03, 0.0003f64.sqrt())));
        assert!(likelihood.score(1.0) > RED && likelihood.score(0.0) < 0.05);
        likelihood.learn(1.0);
        assert!((likelihood.score(1.0) - YELLOW).abs() < 1e-12);
    }

    #[test]
    fn undo_leads_back_and_a_saved_state_continues() {
        for smoothing_window in [1, 2, 5] {
            let mut likelihood = Likelihood::new(Settings { smoothing_window, ..settings() });
            for row in 0..40 {
                let raw = f64::from(row * row % 7) / 7.0;
                let before = pack(likelihood.save()).unwrap();
                let undo = likelihood.step(0.9);
                likelihood.revert(undo);
                assert!(pack(likelihood.save()).unwrap() == before, "row {row}");
                likelihood.learn(raw);
                let mut loaded = Likelihood::new(likelihood.settings);
                loaded.load(NAME, unpack(NAME, &pack(likelihood.save()).unwrap()).unwrap()).unwrap();
                assert_eq!(loaded.score(0.3), likelihood.score(0.3));
            }
        }
    }
}
