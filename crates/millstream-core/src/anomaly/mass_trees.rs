//! Perfect binary trees of random half-spaces, in flat arrays.
//!
//! A tree of height h has 2^h − 1 splits and 2^h leaves. Nodes are numbered as in a heap: the root is 1, the children of
//! node i are 2i and 2i + 1, and the leaves are the nodes from 2^h on. The splits of tree t begin at t 2^h.

use crate::batch::Rows;
use crate::numeric::random::Random;
use crate::row::{Row, Value};

/// No split is nearer than this to the ends of its cell, as a fraction of the cell's width.
const PADDING: f64 = 0.15;
/// Rows that go down a tree together.
const GROUP: usize = 8;
/// Distinguishes the random numbers of the trees from other uses of the same seed.
const TREES: u64 = 0x4853_5472;

#[derive(Clone, Copy, Debug, Default)]
pub struct Split {
    pub value: f64,
    pub feature: u32,
}

#[derive(Clone, Debug, Default)]
pub struct MassTrees {
    pub height: u32,
    /// Empty until the trees are grown; the first of each tree is not used.
    pub splits: Vec<Split>,
    /// One more than the highest feature of a split.
    width: usize,
}

/// The part of the feature space that a node stands for.
struct Cell {
    features: Vec<u32>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl MassTrees {
    /// Grow `count` trees over the given features: (slot, low, high).
    pub fn grow(height: u32, count: usize, features: &[(u32, f64, f64)], seed: u64) -> Self {
        let mut cell = Cell {
            features: features.iter().map(|feature| feature.0).collect(),
            low: features.iter().map(|feature| feature.1).collect(),
            high: features.iter().map(|feature| feature.2).collect(),
        };
        let mut random = Random::new(seed, TREES);
        let mut splits = vec![Split::default(); count << height];
        for tree in splits.chunks_exact_mut(1 << height) {
            cell.split(1, tree, &mut random);
        }
        MassTrees::new(height, splits)
    }

    pub fn new(height: u32, splits: Vec<Split>) -> Self {
        let width = splits.iter().map(|split| split.feature as usize + 1).max().unwrap_or(0);
        MassTrees { height, splits, width }
    }

    pub fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    pub fn leaves_per_tree(&self) -> usize {
        1 << self.height
    }

    /// Write the leaf of a row in each tree, as an index into the leaves of all trees. Where a feature is missing, the row
    /// goes to the child with more of the given masses of leaves, the left one among equals.
    #[inline]
    pub fn find(&self, x: Row<'_>, masses: &[f64], leaves: &mut Vec<u32>) {
        leaves.clear();
        match x {
            Row::Plain(values) if values.len() >= self.width => self.find_plain(values, leaves),
            _ => self.find_any(x, masses, leaves),
        }
    }

    /// Level by level through all trees, whose look-ups do not wait for each other.
    fn find_plain(&self, x: &[f64], leaves: &mut Vec<u32>) {
        let size = self.leaves_per_tree();
        leaves.resize(self.splits.len() / size, 1);
        for _ in 0..self.height {
            for (tree, node) in self.splits.chunks_exact(size).zip(leaves.iter_mut()) {
                let split = &tree[*node as usize];
                *node = 2 * *node + u32::from(x[split.feature as usize] >= split.value);
            }
        }
        for (tree, node) in leaves.iter_mut().enumerate() {
            *node = *node - size as u32 + (tree * size) as u32;
        }
    }

    /// Whether the leaves of a row can be found together with those of others.
    #[inline]
    pub fn is_plain(&self, x: Row<'_>) -> bool {
        matches!(x, Row::Plain(values) if values.len() >= self.width)
    }

    /// The leaf of each of some plain rows in one tree, to `visit` in the order of the rows. The rows of a group go down
    /// together, so that their look-ups do not wait for each other, and the tree stays in the cache for all rows.
    #[inline]
    pub fn find_together(&self, tree: usize, rows: &Rows<'_>, mut visit: impl FnMut(usize, usize)) {
        let size = self.leaves_per_tree();
        let splits = &self.splits[tree * size..(tree + 1) * size];
        let plain = |row: usize| match rows.at(row) {
            Row::Plain(values) => values,
            _ => &[],
        };
        let count = rows.len();
        for first in (0..count).step_by(GROUP) {
            // The last group is filled up with its last row.
            let x: [&[f64]; GROUP] = std::array::from_fn(|at| plain((first + at).min(count - 1)));
            let mut nodes = [1usize; GROUP];
            for _ in 0..self.height {
                for at in 0..GROUP {
                    let split = &splits[nodes[at]];
                    nodes[at] = 2 * nodes[at] + usize::from(x[at][split.feature as usize] >= split.value);
                }
            }
            for (row, node) in (first..count).zip(nodes) {
                visit(row, node - size);
            }
        }
    }

    fn find_any(&self, x: Row<'_>, masses: &[f64], leaves: &mut Vec<u32>) {
        let size = self.leaves_per_tree();
        for (tree, splits) in self.splits.chunks_exact(size).enumerate() {
            let masses = &masses[tree * size..(tree + 1) * size];
            let mut node = 1;
            // How many leaves are below a child.
            let mut below = size;
            while node < size {
                below /= 2;
                let split = splits[node];
                let right = match x.get(split.feature as usize) {
                    Some(Value::Number(value)) => value >= split.value,
                    _ => {
                        let left = 2 * node * below - size;
                        let mass = |from: usize| masses[from..from + below].iter().sum::<f64>();
                        mass(left) < mass(left + below)
                    }
                };
                node = 2 * node + usize::from(right);
            }
            leaves.push((tree * size + node - size) as u32);
        }
    }

    pub fn memory(&self) -> usize {
        self.splits.capacity() * std::mem::size_of::<Split>()
    }
}

impl Cell {
    /// Split a node and all below it: a feature is drawn in proportion to the cell's width in it, a value uniformly from
    /// the cell without its ends.
    fn split(&mut self, node: usize, tree: &mut [Split], random: &mut Random) {
        if node >= tree.len() {
            return;
        }
        let chosen = self.draw(random);
        let (low, high) = (self.low[chosen], self.high[chosen]);
        let edge = PADDING * (high - low);
        let value = random.between(low + edge, high - edge);
        tree[node] = Split { value, feature: self.features[chosen] };
        self.high[chosen] = value;
        self.split(2 * node, tree, random);
        self.high[chosen] = high;
        self.low[chosen] = value;
        self.split(2 * node + 1, tree, random);
        self.low[chosen] = low;
    }

    fn draw(&self, random: &mut Random) -> usize {
        let total: f64 = self.low.iter().zip(&self.high).map(|(low, high)| high - low).sum();
        let mut rest = random.unit() * total;
        for (index, (low, high)) in self.low.iter().zip(&self.high).enumerate() {
            rest -= high - low;
            if rest < 0.0 {
                return index;
            }
        }
        self.features.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureKind;

    #[test]
    fn splits_lie_in_their_cells_without_the_ends() {
        let trees = MassTrees::grow(6, 20, &[(0, 0.0, 1.0), (3, -10.0, 10.0)], 7);
        let size = trees.leaves_per_tree();
        let mut wide = 0;
        for tree in trees.splits.chunks_exact(size) {
            wide += usize::from(tree[1].feature == 3);
            for node in 1..size {
                // The cell of a node, from the splits above it.
                let (mut low, mut high) = ([0.0, -10.0], [1.0, 10.0]);
                for depth in (1..=node.ilog2()).rev() {
                    let (above, right) = (tree[node >> depth], node >> (depth - 1) & 1 == 1);
                    let feature = usize::from(above.feature == 3);
                    let end = if right { &mut low[feature] } else { &mut high[feature] };
                    *end = above.value;
                }
                let feature = usize::from(tree[node].feature == 3);
                let edge = 0.149 * (high[feature] - low[feature]);
                assert!(tree[node].value > low[feature] + edge && tree[node].value < high[feature] - edge);
            }
        }
        // The wide feature has 20 of 21 parts of the first cell's width.
        assert!(wide >= 17, "{wide}");
    }

    #[test]
    fn all_forms_of_a_row_reach_the_same_leaf() {
        let trees = MassTrees::grow(5, 8, &[(0, 0.0, 1.0), (1, 0.0, 1.0)], 3);
        let masses = vec![0.0; 8 * 32];
        let (mut plain, mut other) = (Vec::new(), Vec::new());
        for x in [[0.2, 0.7], [0.0, 0.0], [5.0, -3.0], [0.0, 0.5]] {
            trees.find(Row::Plain(&x), &masses, &mut plain);
            trees.find(Row::Mixed(&x, &[FeatureKind::Number; 2]), &masses, &mut other);
            assert_eq!(plain, other);
            let listed: Vec<u32> = (0..2).filter(|&slot| x[slot as usize] != 0.0).collect();
            let values: Vec<f64> = x.iter().copied().filter(|&value| value != 0.0).collect();
            let sparse = crate::row::Sparse { indices: &listed, values: &values, width: 2 };
            trees.find(Row::Sparse(sparse), &masses, &mut other);
            assert_eq!(plain, other);
        }
    }
}
