//! Theta sketches: the number of distinct keys of sets, unions, intersections and differences (Dasgupta, Lang, Rhodes and
//! Thaler, 2016, "A framework for estimating stream expression cardinalities", ICDT), from the k smallest hashes
//! (Bar-Yossef et al., 2002).
//!
//! The state is a threshold θ and all hashes below it, at most k: θ is the (k + 1)-th smallest hash of the stream. The
//! hashes below θ are a uniform sample of the distinct keys, so that their number divided by θ (as a fraction of 2⁶⁴) is
//! an unbiased estimate, and exact while θ is 1. The state depends on the set of keys alone, so that merged sketches are
//! bit-identical to one sketch of all keys. The sample of a combination of two sets has the smaller θ of the two.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question, SetOperation};
use super::summary::{built, unsupported, Summary};
use super::{MISSING, SEED};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::key::Key;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

const NAME: &str = "sketch.Theta";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "The number of distinct keys of sets, unions, intersections and differences",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "k",
            Kind::Integer { low: 16, high: 1 << 26 },
            Default::Integer(4096),
            "number of hashes that are kept; the relative error is 1/√k",
        ),
        SEED,
        MISSING,
    ],
    build: |arguments| {
        let (k, seed) = (arguments.size("k")?, arguments.integer("seed")? as u64);
        built(arguments, Theta { k, seed, theta: u64::MAX, hashes: Vec::new(), recent: Vec::new() })
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
struct Theta {
    k: usize,
    seed: u64,
    theta: u64,
    /// Ascending and distinct, all below θ, at most k.
    hashes: Vec<u64>,
    /// Hashes below θ that are not sorted in yet, with duplicates; at most k.
    recent: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    k: usize,
    seed: u64,
    theta: u64,
    hashes: Vec<u64>,
}

impl From<Saved> for Theta {
    fn from(saved: Saved) -> Self {
        let Saved { k, seed, theta, hashes } = saved;
        Theta { k, seed, theta, hashes, recent: Vec::new() }
    }
}

impl From<Theta> for Saved {
    fn from(mut sketch: Theta) -> Self {
        sketch.settle();
        let Theta { k, seed, theta, hashes, .. } = sketch;
        Saved { k, seed, theta, hashes }
    }
}

impl Theta {
    #[inline(always)]
    fn add_hash(&mut self, hash: u64) {
        if hash < self.theta {
            self.recent.push(hash);
            if self.recent.len() == self.k {
                self.settle();
            }
        }
    }

    /// Sort recent hashes in, and keep the k smallest.
    fn settle(&mut self) {
        if self.recent.is_empty() {
            return;
        }
        self.recent.sort_unstable();
        self.recent.dedup();
        self.hashes.append(&mut self.recent);
        // Two ascending runs: a merge.
        self.hashes.sort();
        self.hashes.dedup();
        if let Some(&theta) = self.hashes.get(self.k) {
            self.theta = theta;
            self.hashes.truncate(self.k);
        }
    }

    /// The sketch without recent hashes.
    fn settled(&self) -> std::borrow::Cow<'_, Theta> {
        match self.recent.is_empty() {
            true => std::borrow::Cow::Borrowed(self),
            false => {
                let mut sketch = self.clone();
                sketch.settle();
                std::borrow::Cow::Owned(sketch)
            }
        }
    }

    fn fraction(theta: u64) -> f64 {
        match theta {
            u64::MAX => 1.0,
            theta => theta as f64 / 18_446_744_073_709_551_616.0,
        }
    }

    fn estimate(&self) -> f64 {
        let settled = self.settled();
        settled.hashes.len() as f64 / Self::fraction(settled.theta)
    }

    fn has(&self, hash: u64) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }
}

impl Summary for Theta {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;

    fn is_valid(&self, built: &Self) -> bool {
        (self.k, self.seed) == (built.k, built.seed)
            && self.hashes.len() <= self.k
            && self.hashes.is_sorted_by(|a, b| a < b)
            && self.hashes.last().is_none_or(|&hash| hash < self.theta)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * (self.hashes.capacity() + self.recent.capacity())
    }

    fn add_key(&mut self, key: Key<'_>, _w: f64) {
        self.add_hash(key.hash(self.seed));
    }

    fn add_integers(&mut self, keys: &[i64]) {
        // Few hashes pass θ in the end, so that all are computed first, without a branch between them. A frequent key that
        // passes would be sorted in again and again; a small table of the last hashes stops it. It starts with a number
        // that never passes.
        let (mut hashes, mut last) = ([0; 256], [u64::MAX; 1024]);
        for keys in keys.chunks(hashes.len()) {
            for (hash, &key) in hashes.iter_mut().zip(keys) {
                *hash = Key::Int(key).hash(self.seed);
            }
            for &hash in &hashes[..keys.len()] {
                if hash < self.theta {
                    let known = &mut last[(hash % 1024) as usize];
                    if *known != hash {
                        *known = hash;
                        self.add_hash(hash);
                    }
                }
            }
        }
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        self.settle();
        let other = other.settled();
        self.theta = self.theta.min(other.theta);
        let theta = self.theta;
        self.hashes.retain(|&hash| hash < theta);
        self.recent.extend(other.hashes.iter().filter(|&&hash| hash < theta));
        self.settle();
        Ok(())
    }

    /// A key that is in both counts once.
    fn merge_base(&mut self, _base: &Self) -> Result<()> {
        Ok(())
    }

    fn combine(&mut self, other: &Self, operation: SetOperation) -> Result<()> {
        self.settle();
        let other = other.settled();
        self.theta = self.theta.min(other.theta);
        let (theta, wanted) = (self.theta, operation == SetOperation::Intersection);
        self.hashes.retain(|&hash| hash < theta && other.has(hash) == wanted);
        Ok(())
    }

    fn jaccard(&self, other: &Self) -> Result<f64> {
        let (ours, theirs) = (self.settled(), other.settled());
        let mut union = ours.clone().into_owned();
        union.merge(&theirs)?;
        if union.hashes.is_empty() {
            return Ok(f64::NAN);
        }
        let both = union.hashes.iter().filter(|&&hash| ours.has(hash) && theirs.has(hash)).count();
        Ok(both as f64 / union.hashes.len() as f64)
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Distinct => Ok(self.estimate()),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        let settled = self.settled();
        // The number of hashes below θ is binomial; twice its standard deviation.
        let bound = match settled.theta {
            u64::MAX => 0.0,
            theta => {
                2.0 * ((1.0 - Self::fraction(theta)) / settled.hashes.len().saturating_sub(1).max(1) as f64).sqrt()
            }
        };
        ErrorBound::new("relative count", bound, 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(keys: impl Iterator<Item = i64>) -> Theta {
        let mut theta = Theta { k: 512, seed: 0, theta: u64::MAX, hashes: Vec::new(), recent: Vec::new() };
        keys.for_each(|key| theta.add_key(Key::Int(key), 1.0));
        theta
    }

    #[test]
    fn the_smallest_hashes_by_hand() {
        // k = 2 and the hashes 2⁶³, 2⁶², 2⁶⁰, 2⁶²: θ is 2⁶³, half of the range, with two hashes below: 2 / 0.5 = 4 keys.
        let mut theta = Theta { k: 2, seed: 0, theta: u64::MAX, hashes: Vec::new(), recent: Vec::new() };
        for hash in [1 << 63, 1 << 62, 1 << 60, 1 << 62] {
            theta.add_hash(hash);
        }
        assert_eq!((theta.estimate(), theta.theta, theta.hashes), (4.0, 1 << 63, vec![1 << 60, 1 << 62]));
    }

    #[test]
    fn a_merge_is_the_sketch_of_all_keys() {
        for (ours, theirs) in [(0..300, 100..400), (0..20_000, 10_000..50_000), (0..5, 0..9000), (0..900, 0..0)] {
            let whole = Saved::from(sketch(ours.clone().chain(theirs.clone())));
            let mut merged = sketch(ours);
            merged.merge(&sketch(theirs)).expect("nothing to refuse");
            let merged = Saved::from(merged);
            assert_eq!((merged.theta, merged.hashes), (whole.theta, whole.hashes));
        }
    }

    #[test]
    fn set_operations_are_within_their_error() {
        let (ours, theirs) = (sketch(0..30_000), sketch(20_000..60_000));
        let combined = |operation| {
            let mut result = ours.clone();
            result.combine(&theirs, operation).expect("the same settings");
            let bound = result.error_bound(0.0).bound.unwrap_or(0.0);
            (result.estimate(), bound)
        };
        let (both, bound) = combined(SetOperation::Intersection);
        assert!((both / 10_000.0 - 1.0).abs() < 1.5 * bound, "{both} {bound}");
        let (alone, bound) = combined(SetOperation::Difference);
        assert!((alone / 20_000.0 - 1.0).abs() < 1.5 * bound, "{alone} {bound}");
        let jaccard = ours.jaccard(&theirs).expect("the same settings");
        assert!((jaccard - 1.0 / 6.0).abs() < 0.05, "{jaccard}");
    }
}
