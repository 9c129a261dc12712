//! Atomic learning for trees that update several nodes with one example.
//!
//! A later node may refuse an example that earlier nodes have already learned. While all numbers and weights stay within
//! the limits below, no node can: sums of squares stay below 10⁵⁰ · 4 · 10²⁰⁰ · 2⁵³, far from overflow. Beyond the limits,
//! the tree is copied before each example and restored after a fault. This is slow, and almost never happens.

use crate::fault::Result;
use crate::row::{Row, Scratch, Value};

use super::growth::Tree;
use super::leaf::Leaf;
use super::settings::ESTIMATE;
use super::tree_leaf::{Target, TreeLeaf, Want};
use super::tree_model::AnyTree;

/// Number of examples between checks whether a tree that exceeded the limits is within them again.
const CHECK_EVERY: u64 = 1024;

pub const LARGEST: f64 = 1e100;
const HEAVIEST: f64 = 1e50;
/// Upper bounds of sums of weights and of sums of squares.
pub const MOST: f64 = HEAVIEST * (1u64 << 53) as f64;
pub const WIDEST: f64 = 4.0 * LARGEST * LARGEST * MOST;

/// A tree that updates several nodes with one example.
pub trait LearnsAtSeveralNodes: AnyTree {
    /// Whether the tree has learned numbers beyond the limits.
    fn exceeded_limits(&mut self) -> &mut bool;
    /// Whether all statistics could come from examples within the limits.
    fn is_within_limits(&self) -> bool;
    /// Predict and learn a row that is not sparse. After a fault, some nodes may have learned it.
    fn advance(
        &mut self,
        x: Row<'_>,
        y: Target<Self::Leaf>,
        w: f64,
        want: Want<Self::Leaf>,
        out: &mut <Self::Leaf as TreeLeaf>::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()>;

    /// `advance`, without a trace after a fault.
    fn step_atomically(
        &mut self,
        x: Row<'_>,
        y: Target<Self::Leaf>,
        w: f64,
        want: Want<Self::Leaf>,
        out: &mut <Self::Leaf as TreeLeaf>::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let within = is_row_within_limits(x, w) && Self::Leaf::is_target_within_limits(y);
        if within && !*self.exceeded_limits() {
            return self.advance(x, y, w, want, out, scratch);
        }
        let before = self.clone();
        let learned = self.advance(x, y, w, want, out, scratch);
        match learned {
            Ok(()) => {
                let due = self.tree().learned.is_multiple_of(CHECK_EVERY);
                *self.exceeded_limits() = !(due && self.is_within_limits());
            }
            Err(_) => *self = before,
        }
        learned
    }
}

#[inline]
fn is_row_within_limits(x: Row<'_>, w: f64) -> bool {
    let mut large = w > HEAVIEST;
    match x {
        Row::Plain(values) => {
            large |= values.iter().fold(false, |large, number| large | (number.abs() > LARGEST));
        }
        _ => x.each(|_, value| {
            if let Value::Number(number) = value {
                large |= number.abs() > LARGEST;
            }
        }),
    }
    !large
}

impl Leaf {
    /// Whether the statistics could come from rows within the limits.
    pub fn is_within_limits(&self) -> bool {
        let counts = self.counts.iter().all(|&count| count <= MOST);
        counts
            && self.table.classes.iter().all(|class| {
                (0..class.width()).filter_map(|slot| class.moments(slot, ESTIMATE.ddof)).all(
                    |(weight, mean, variance)| {
                        weight <= MOST && mean.abs() <= LARGEST && variance * weight.max(1.0) <= WIDEST
                    },
                )
            })
    }
}

impl<L: TreeLeaf> Tree<L> {
    pub fn is_within_limits(&self) -> bool {
        self.leaves.iter().all(L::is_within_limits)
    }
}
