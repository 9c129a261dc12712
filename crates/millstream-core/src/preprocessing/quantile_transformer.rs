//! Each number becomes its rank among the numbers of its feature: uniform in [0, 1], or the normal quantile of that.
//!
//! Of each feature, the quantiles at `n_quantiles` equidistant ranks are the reference (at most one for each number). A
//! number between two of them gets a rank by linear interpolation, and a number that equals several of them the middle of
//! their ranks. The smallest number and everything below it become 0, the largest and everything above it 1. A feature
//! that has not varied becomes 0.
//!
//! Normal output is clipped to ±5.2, the normal quantile of 10⁻⁷. It is computed by Wichura's algorithm AS 241.

use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::quantiles::normal_below;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};

use super::per_feature::{PerFeature, Scaling};
use super::quantile_summary::{of_sorted, Saved, Scope, Summary, Undo};
use super::robust_scaler::{scope, REFRESH_INTERVAL, SEED};
use super::windowed::WINDOW_SIZE;

const NAME: &str = "preprocessing.QuantileTransformer";
/// The least rank whose normal quantile is written.
const LEAST: f64 = 1e-7;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Turns numbers into their ranks, with a uniform or a normal distribution",
    merge: Merge::none("its summaries depend on the order of rows: use sketch.KLL to merge quantiles"),
    parameters: &[
        Parameter::new(
            "n_quantiles",
            Kind::Integer { low: 2, high: 10_000 },
            DefaultValue::Integer(100),
            "number of quantiles that ranks are interpolated between",
        ),
        Parameter::new(
            "output_distribution",
            Kind::Choice(&["uniform", "normal"]),
            DefaultValue::Text("uniform"),
            "distribution of the output",
        ),
        WINDOW_SIZE,
        REFRESH_INTERVAL,
        SEED,
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    Ok(Built::Transformer(Box::new(PerFeature::new(Ranks {
        n_quantiles: arguments.size("n_quantiles")?,
        normal: arguments.text("output_distribution")? == "normal",
        scope: scope(arguments)?,
    }))))
}

#[derive(Clone)]
struct Ranks {
    n_quantiles: usize,
    normal: bool,
    scope: Scope,
}

#[derive(Clone)]
struct Feature {
    summary: Summary,
    /// The reference of a stream, which follows from its sketch. That of a window is computed where it is needed.
    reference: Vec<f64>,
    /// The reference before the last refresh.
    kept: Vec<f64>,
    /// Whether the reference is that of an earlier summary.
    stale: bool,
}

impl Ranks {
    fn size(&self, summary: &Summary) -> usize {
        summary.count().min(self.n_quantiles as u64) as usize
    }

    fn refer(&self, summary: &Summary, reference: &mut Vec<f64>) {
        reference.clear();
        if matches!(summary, Summary::Stream(_)) && !summary.is_empty() {
            let (sorted, size) = (summary.sorted(), self.size(summary));
            reference.extend((0..size).map(|index| sorted.quantile(fraction(index, size))));
        }
    }
}

/// The rank of a reference.
#[inline]
fn fraction(index: usize, size: usize) -> f64 {
    if size > 1 {
        index as f64 / (size - 1) as f64
    } else {
        0.0
    }
}

/// The rank of a number among `size` references, which ascend; 0 if they are all the same.
fn rank(size: usize, reference: impl Fn(usize) -> f64, x: f64) -> f64 {
    let Some(last) = size.checked_sub(1) else { return 0.0 };
    let (low, high) = (reference(0), reference(last));
    if x <= low || low == high {
        return 0.0;
    }
    if x >= high {
        return 1.0;
    }
    // The first reference that is not below, and the first above.
    let first = |above: &dyn Fn(f64) -> bool| {
        let (mut from, mut to) = (0, size);
        while from < to {
            let middle = (from + to) / 2;
            if above(reference(middle)) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    };
    let start = first(&|number| number >= x);
    let found = reference(start);
    if found == x {
        let end = first(&|number| number > x) - 1;
        return 0.5 * (fraction(start, size) + fraction(end, size));
    }
    let below = reference(start - 1);
    // Halves, so that the difference of huge numbers does not overflow.
    let part = (0.5 * x - 0.5 * below) / (0.5 * found - 0.5 * below);
    let (from, to) = (fraction(start - 1, size), fraction(start, size));
    from + (to - from) * part
}

impl Scaling for Ranks {
    type Feature = Feature;
    type Undo = Undo;
    type Saved = Saved;

    fn name(&self) -> &'static str {
        NAME
    }

    fn unseen(&self) -> Feature {
        Feature { summary: self.scope.summary(), reference: Vec::new(), kept: Vec::new(), stale: false }
    }

    #[inline]
    fn learn(&self, feature: &mut Feature, x: f64, w: f64) -> Option<Undo> {
        let undo = self.scope.learn(&mut feature.summary, x, w);
        if matches!(undo, Undo::Refreshed) {
            std::mem::swap(&mut feature.reference, &mut feature.kept);
            self.refer(&feature.summary, &mut feature.reference);
        }
        Some(undo)
    }

    fn undo(&self, feature: &mut Feature, undo: Undo) {
        feature.summary.undo(undo);
        if matches!(undo, Undo::Refreshed) {
            std::mem::swap(&mut feature.reference, &mut feature.kept);
        }
    }

    fn accepts_all(&self) -> bool {
        true
    }

    fn learn_column(&self, feature: &mut Feature, xs: &[f64], weights: Option<&[f64]>) {
        feature.stale |= self.scope.learn_column(&mut feature.summary, xs, weights);
    }

    fn refresh(&self, feature: &mut Feature) {
        if std::mem::take(&mut feature.stale) {
            self.refer(&feature.summary, &mut feature.reference);
        }
    }

    #[inline]
    fn scaled(&self, feature: &Feature, x: f64) -> f64 {
        let (rank, constant) = match &feature.summary {
            Summary::Window { sorted, .. } => {
                let size = self.size(&feature.summary);
                let constant = sorted.first() == sorted.last();
                (rank(size, |index| of_sorted(sorted, fraction(index, size)), x), constant)
            }
            Summary::Stream(_) => {
                let reference = &feature.reference;
                (rank(reference.len(), |index| reference[index], x), reference.first() == reference.last())
            }
        };
        match self.normal {
            true if constant => 0.0,
            true => normal_below(rank.clamp(LEAST, 1.0 - LEAST)),
            false => rank,
        }
    }

    fn save(&self, feature: &Feature) -> Saved {
        feature.summary.save()
    }

    fn load(&self, saved: Saved) -> Result<Feature> {
        let mut feature = Feature { summary: self.scope.load(NAME, saved)?, ..self.unseen() };
        self.refer(&feature.summary, &mut feature.reference);
        Ok(feature)
    }

    fn inspect(&self, feature: &Feature) -> Option<Json> {
        if feature.summary.is_empty() {
            return None;
        }
        let (sorted, size) = (feature.summary.sorted(), self.size(&feature.summary));
        let quantiles: Vec<f64> = (0..size).map(|index| sorted.quantile(fraction(index, size))).collect();
        Some(json!({ "count": feature.summary.count(), "quantiles": quantiles }))
    }

    fn memory(&self, feature: &Feature) -> usize {
        feature.summary.memory() + (feature.reference.capacity() + feature.kept.capacity()) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::row::{Row, RowBuffer, Scratch};
    use crate::task::Truth;

    /// Of 1, 2, 2, 2, 5 the references are these numbers at ranks 0, ¼, ½, ¾, 1: 2 is in the middle of ¼ and ¾; 4 is two
    /// thirds of the way from ¾ to 1.
    #[test]
    fn worked_by_hand() {
        for window in [json!(null), json!(5)] {
            let description = json!({ "name": NAME, "parameters": { "window_size": window } });
            let description = registry::resolve(&description).unwrap();
            let Built::Transformer(mut scaler) = registry::build_resolved(&description).unwrap() else { panic!() };
            let (mut scratch, mut out) = (Scratch::default(), RowBuffer::default());
            for x in [2.0, 5.0, 2.0, 1.0, 2.0] {
                scaler.learn(Row::Plain(&[x]), Truth::None, 1.0, &mut scratch).unwrap();
            }
            for (x, expected) in [(1.0, 0.0), (2.0, 0.5), (4.0, 0.75 + 0.25 * (2.0 / 3.0)), (9.0, 1.0), (0.0, 0.0)]
            {
                scaler.transform(Row::Plain(&[x]), &mut out, &mut scratch);
                let Row::Plain(z) = out.row() else { panic!() };
                assert!((z[0] - expected).abs() < 1e-15, "{x} {z:?}");
            }
        }
    }
}
