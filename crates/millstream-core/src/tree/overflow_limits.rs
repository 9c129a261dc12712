//! Whole or nothing for trees that learn an example in several places.
//!
//! One place may refuse what the places before it have learned. While all numbers and weights have been within these
//! limits no place can: sums of squares stay below 10⁵⁰ · 4 · 10²⁰⁰ · 2⁵³, far from what is refused. Beyond, a copy of the
//! tree is kept until the example is learned, which is slow and almost never happens.

use crate::row::{Row, Value};

use super::growth::Tree;
use super::leaf::Leaf;
use super::settings::ESTIMATE;
use super::tree_leaf::TreeLeaf;

/// How often it is asked whether a tree that has learned larger numbers has come within the limits again.
const AGAIN: u64 = 1024;

pub const LARGEST: f64 = 1e100;
const HEAVIEST: f64 = 1e50;
/// What sums of weights and of squares can come to.
pub const MOST: f64 = HEAVIEST * (1u64 << 53) as f64;
pub const WIDEST: f64 = 4.0 * LARGEST * LARGEST * MOST;

/// Whether a row is within the limits.
#[inline]
pub fn is_sure(x: Row<'_>, w: f64) -> bool {
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
    /// Whether what it knows can come from rows within the limits.
    pub fn is_sure(&self) -> bool {
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
    pub fn is_sure(&self) -> bool {
        self.leaves.iter().all(L::is_sure)
    }

    /// Whether it is time to ask that again.
    pub fn asks_again(&self) -> bool {
        self.learned.is_multiple_of(AGAIN)
    }
}
