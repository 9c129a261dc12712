//! z = (x − median) / (q_sup quantile − q_inf quantile) of each feature.
//!
//! Quantiles are exact over the last `window_size` numbers, or those of a sketch of the whole stream that is refreshed
//! from time to time: see `quantile_summary.rs`. A feature whose two quantiles are equal becomes 0.

use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::bounded;

use super::per_feature::{moderate, PerFeature, Scaling};
use super::quantile_summary::{Saved, Scope, Summary, Undo};
use super::windowed::{window_size, WINDOW_SIZE};

const NAME: &str = "preprocessing.RobustScaler";

pub const REFRESH_INTERVAL: Parameter = Parameter::new(
    "refresh_interval",
    Kind::Integer { low: 1, high: 1 << 20 },
    DefaultValue::Integer(1000),
    "largest number of values of a feature after which its quantiles are computed again; with a window, always 1",
);

pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(0),
    "seed of the sketch of the quantiles",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales numbers by their median and interquartile range; outliers hardly count",
    merge: Merge::none("its summaries depend on the order of rows: use sketch.KLL to merge quantiles"),
    parameters: &[
        Parameter::new(
            "with_centering",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether to subtract the median",
        ),
        Parameter::new(
            "with_scaling",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether to divide by the range between the two quantiles",
        ),
        Parameter::new("q_inf", Kind::Float(Bounds::UNIT), DefaultValue::Float(0.25), "lower quantile"),
        Parameter::new("q_sup", Kind::Float(Bounds::UNIT), DefaultValue::Float(0.75), "upper quantile"),
        WINDOW_SIZE,
        REFRESH_INTERVAL,
        SEED,
    ],
    build,
};

/// Which numbers count, of a scaler by quantiles.
pub fn scope(arguments: &Arguments<'_>) -> Result<Scope> {
    Ok(Scope {
        window_size: window_size(arguments)?,
        refresh_interval: arguments.size("refresh_interval")?,
        seed: arguments.integer("seed")? as u64,
    })
}

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let (q_inf, q_sup) = (arguments.float("q_inf")?, arguments.float("q_sup")?);
    if q_inf >= q_sup {
        return Err(Fault::value(format!("{NAME}: q_sup must be greater than q_inf = {q_inf}, got {q_sup}")));
    }
    Ok(Built::Transformer(Box::new(PerFeature::new(Robust {
        with_centering: arguments.boolean("with_centering")?,
        with_scaling: arguments.boolean("with_scaling")?,
        q_inf,
        q_sup,
        scope: scope(arguments)?,
    }))))
}

#[derive(Clone)]
struct Robust {
    with_centering: bool,
    with_scaling: bool,
    q_inf: f64,
    q_sup: f64,
    scope: Scope,
}

#[derive(Clone)]
struct Feature {
    summary: Summary,
    quantiles: Quantiles,
    /// Whether the quantiles are those of an earlier summary.
    stale: bool,
}

/// They follow from the summary; NaN before the first number.
#[derive(Clone, Copy)]
struct Quantiles {
    median: f64,
    range: f64,
}

const UNKNOWN: Quantiles = Quantiles { median: f64::NAN, range: f64::NAN };

impl Robust {
    fn quantiles(&self, summary: &Summary) -> Quantiles {
        if summary.is_empty() {
            return UNKNOWN;
        }
        let sorted = summary.sorted();
        Quantiles {
            median: sorted.quantile(0.5),
            range: bounded(sorted.quantile(self.q_sup) - sorted.quantile(self.q_inf)),
        }
    }
}

impl Scaling for Robust {
    type Feature = Feature;
    type Undo = Undo;
    type Saved = Saved;

    fn name(&self) -> &'static str {
        NAME
    }

    fn unseen(&self) -> Feature {
        Feature { summary: self.scope.summary(), quantiles: UNKNOWN, stale: false }
    }

    #[inline]
    fn learn(&self, feature: &mut Feature, x: f64, w: f64) -> Option<Undo> {
        let undo = self.scope.learn(&mut feature.summary, x, w);
        if !matches!(undo, Undo::Waiting) {
            feature.quantiles = self.quantiles(&feature.summary);
        }
        Some(undo)
    }

    fn undo(&self, feature: &mut Feature, undo: Undo) {
        feature.summary.undo(undo);
        feature.quantiles = self.quantiles(&feature.summary);
    }

    fn accepts_all(&self) -> bool {
        true
    }

    fn learn_column(&self, feature: &mut Feature, xs: &[f64], weights: Option<&[f64]>) {
        feature.stale |= self.scope.learn_column(&mut feature.summary, xs, weights);
    }

    fn refresh(&self, feature: &mut Feature) {
        if std::mem::take(&mut feature.stale) {
            feature.quantiles = self.quantiles(&feature.summary);
        }
    }

    #[inline]
    fn scaled(&self, feature: &Feature, x: f64) -> f64 {
        let Quantiles { median, range } = feature.quantiles;
        if median.is_nan() {
            return 0.0;
        }
        let centred = if self.with_centering { bounded(x - median) } else { x };
        if !self.with_scaling {
            centred
        } else if range > 0.0 {
            moderate(centred / range)
        } else {
            0.0
        }
    }

    fn keeps_zero(&self) -> bool {
        !self.with_centering
    }

    fn save(&self, feature: &Feature) -> Saved {
        feature.summary.save()
    }

    fn load(&self, saved: Saved) -> Result<Feature> {
        let summary = self.scope.load(NAME, saved)?;
        Ok(Feature { quantiles: self.quantiles(&summary), summary, stale: false })
    }

    fn inspect(&self, feature: &Feature) -> Option<Json> {
        let Quantiles { median, range } = feature.quantiles;
        (!median.is_nan()).then(|| json!({ "count": feature.summary.count(), "median": median, "range": range }))
    }

    fn memory(&self, feature: &Feature) -> usize {
        feature.summary.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::row::{Row, RowBuffer, Scratch};
    use crate::task::Truth;

    /// Of 1, 2, 3, 4, 100 the median is 3 and the quartiles are 2 and 4; 100 becomes 97 / 2. In a window of 3 there are 3, 4,
    /// 100: median 4, quartiles 3.5 and 52, so that 100 becomes 96 / 48.5.
    #[test]
    fn worked_by_hand() {
        for (window, expected) in [(json!(null), 48.5), (json!(3), 96.0 / 48.5)] {
            let description = json!({ "name": NAME, "parameters": { "window_size": window } });
            let description = registry::resolve(&description).unwrap();
            let Built::Transformer(mut scaler) = registry::build_resolved(&description).unwrap() else { panic!() };
            let (mut scratch, mut out) = (Scratch::default(), RowBuffer::default());
            for x in [1.0, 2.0, 3.0, 4.0, 100.0] {
                scaler.learn(Row::Plain(&[x, 7.0]), Truth::None, 1.0, &mut scratch).unwrap();
            }
            scaler.transform(Row::Plain(&[100.0, 8.0]), &mut out, &mut scratch);
            let Row::Plain(z) = out.row() else { panic!() };
            assert_eq!(z, [expected, 0.0]);
        }
    }
}
