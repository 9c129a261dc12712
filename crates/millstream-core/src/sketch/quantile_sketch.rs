//! KLL as a component. The algorithm is in `kll`.
//!
//! The bound on ranks is measured, not the worst case of the paper, which is several times as large: see
//! docs/notes/sketches.md.

use serde::{Deserialize, Serialize};

use super::kll::{Kll, SortedView, MAX_K, MAX_WEIGHT, MIN_K};
use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::MISSING;
use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, FaultKind, Result};
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Default, Kind, Parameter};

const NAME: &str = "sketch.KLL";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "Quantiles of numbers within an error of rank",
    merge: Merge::bounded("the error of rank of one sketch of all numbers"),
    parameters: &[
        Parameter::new(
            "k",
            Kind::Integer { low: MIN_K as i64, high: MAX_K as i64 },
            Default::Integer(200),
            "size of the largest compactor; the error is proportional to 1/k",
        ),
        super::SEED.with_words("seed of the coins; sketches with different seeds can be merged"),
        MISSING,
    ],
    build: |arguments| {
        let kll = Kll::new(arguments.size("k")?, arguments.integer("seed")? as u64);
        built(arguments, QuantileSketch { kll })
    },
};

/// It keeps no sorted view between two calls, which would take more memory than the sketch.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct QuantileSketch {
    kll: Kll,
}

impl Summary for QuantileSketch {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Numbers;
    const ANY_SEED: bool = true;
    const MAX_TOTAL: f64 = MAX_WEIGHT;

    fn is_valid(&self, built: &Self) -> bool {
        self.kll.k() == built.kll.k()
    }

    fn memory(&self) -> usize {
        self.kll.memory()
    }

    #[inline]
    fn add_number(&mut self, x: f64, w: f64) {
        self.kll.update_weighted(x, w);
    }

    fn add_numbers(&mut self, xs: &[f64]) {
        self.kll.update_many(xs);
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        // The total weight of a loaded file may be forged.
        if !self.kll.has_room_for(other.kll.weight()) {
            return Err(Fault::new(FaultKind::Overflow, "the total weight would be too large"));
        }
        self.kll.merge(&other.kll);
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        answer(&self.kll.sorted(), question)
    }

    fn answers(&self, questions: &mut dyn Iterator<Item = Question<'_>>) -> Result<Vec<f64>> {
        let view = self.kll.sorted();
        questions.map(|question| answer(&view, question)).collect()
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        // As long as all items are held, ranks are exact.
        let bound = if self.kll.is_exact() { 0.0 } else { rank_error(self.kll.k()) };
        ErrorBound::new("rank", bound, 0.99)
    }
}

fn answer(view: &SortedView, question: Question<'_>) -> Result<f64> {
    match question {
        Question::Quantile(q) => Ok(view.quantile(q)),
        Question::Rank(x) => Ok(view.rank(x)),
        _ => Err(unsupported()),
    }
}

/// The error of rank that the largest error over all items keeps with probability 0.99.
fn rank_error(k: usize) -> f64 {
    let log = ln(k as f64);
    // The second term counts below k = 62, where the sampler and few compactors dominate.
    (2.5 * exp(-0.95 * log)).max(7.0 * exp(-1.2 * log))
}
