//! Sparse moments of one class, for very many columns of which most were always 0, such as hashed words.
//!
//! A number that was always 0 has mean 0 and no variance, and stays so while it is 0, bit for bit. Only the other
//! blocks are stored, so the cost of an example depends on the columns that were ever nonzero in its class instead of
//! all columns. The arithmetic and its order are those of `Gaussians`.

use crate::row::Sparse;

use super::gaussians::{Block, Gaussians, Moments, Step, LANES};
use super::likelihood::{LogProduct, ProductLanes, BLOCK};

#[derive(Clone, Debug, Default)]
pub struct SparseClassTable {
    width: usize,
    /// Indices of the stored blocks, ascending; all others are 0.
    indices: Vec<u32>,
    blocks: Vec<Block>,
}

/// The numbers of a sparse row by block.
pub fn sparse_pairs<'a>(x: Sparse<'a>) -> impl Iterator<Item = (u32, [f64; LANES])> + 'a {
    let mut listed = x.indices.iter().copied().zip(x.values.iter().copied()).peekable();
    std::iter::from_fn(move || {
        let index = listed.peek()?.0 / LANES as u32;
        let mut pair = [0.0; LANES];
        while let Some((slot, value)) = listed.next_if(|(slot, _)| slot / LANES as u32 == index) {
            pair[slot as usize % LANES] = value;
        }
        Some((index, pair))
    })
}

/// The numbers of a plain row by block.
pub fn plain_pairs(x: &[f64]) -> impl Iterator<Item = (u32, [f64; LANES])> + '_ {
    x.chunks(LANES).enumerate().map(|(index, pair)| (index as u32, [pair[0], pair.get(1).copied().unwrap_or(0.0)]))
}

impl SparseClassTable {
    pub fn new(gaussians: &Gaussians) -> Self {
        let mut sparse = SparseClassTable { width: gaussians.width(), ..SparseClassTable::default() };
        for (index, block) in gaussians.blocks().iter().enumerate() {
            if block.means.iter().chain(&block.squares).any(|number| number.to_bits() != 0) {
                sparse.push(index as u32, *block);
            }
        }
        sparse
    }

    /// After the first example.
    pub fn first(x: Sparse<'_>) -> Self {
        let mut sparse = SparseClassTable { width: x.width, ..SparseClassTable::default() };
        sparse_pairs(x).for_each(|(index, means)| sparse.push(index, Block { means, ..Block::default() }));
        sparse
    }

    fn push(&mut self, index: u32, block: Block) {
        self.indices.push(index);
        self.blocks.push(block);
    }

    pub fn written_out(&self) -> Gaussians {
        let mut gaussians = Gaussians::default();
        gaussians.grow(self.width);
        for (&index, block) in self.indices.iter().zip(&self.blocks) {
            gaussians.set_block(index as usize, *block);
        }
        gaussians
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of stored blocks.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    fn block(&self, slot: usize) -> Block {
        let found = self.indices.binary_search(&((slot / LANES) as u32));
        found.map_or(Block::default(), |at| self.blocks[at])
    }

    pub fn moments(&self, slot: usize) -> Moments {
        let block = self.block(slot);
        Moments { mean: block.means[slot % LANES], squares: block.squares[slot % LANES] }
    }

    pub fn inverse(&self, slot: usize) -> f64 {
        self.block(slot).inverses[slot % LANES]
    }

    /// Visit every block that is stored or present in the row, in order, with the row's numbers there.
    #[inline]
    fn walk(
        &self,
        pairs: impl Iterator<Item = (u32, [f64; LANES])>,
        mut visit: impl FnMut(u32, &Block, [f64; LANES]),
    ) {
        let nothing = Block::default();
        let mut at = 0;
        for (index, pair) in pairs {
            while at < self.indices.len() && self.indices[at] < index {
                visit(self.indices[at], &self.blocks[at], [0.0; LANES]);
                at += 1;
            }
            if self.indices.get(at) == Some(&index) {
                visit(index, &self.blocks[at], pair);
                at += 1;
            } else {
                visit(index, &nothing, pair);
            }
        }
        for (&index, block) in self.indices[at..].iter().zip(&self.blocks[at..]) {
            visit(index, block, [0.0; LANES]);
        }
    }

    /// Write the statistics after a row of the same width into `new`; false on overflow.
    pub fn propose(&self, x: Sparse<'_>, step: Step, new: &mut SparseClassTable) -> bool {
        new.width = self.width;
        new.indices.clear();
        new.blocks.clear();
        let mut sound = true;
        self.walk(sparse_pairs(x), |index, old, pair| {
            let mut block = Block::default();
            for (lane, x) in pair.into_iter().enumerate() {
                let moments = Moments { mean: old.means[lane], squares: old.squares[lane] }.updated(x, step);
                sound &= moments.sound(step.divisor);
                block.put(lane, moments, step.divisor);
            }
            new.push(index, block);
        });
        sound
    }

    /// Σ (x − mean)² / variance, and how many numbers are impossible.
    #[inline]
    pub fn fit(&self, pairs: impl Iterator<Item = (u32, [f64; LANES])>) -> (f64, u32) {
        let (mut form, mut impossible) = ([0.0; LANES], 0);
        self.walk(pairs, |_, block, pair| {
            block.add_distances(pair, &mut form);
            for (lane, x) in pair.into_iter().enumerate() {
                impossible += u32::from(block.inverses[lane] == 0.0 && x != block.means[lane]);
            }
        });
        (form[0] + form[1], impossible)
    }

    /// The product of the inverse variances, and how many there are. Blocks that are not stored count as ones: runs
    /// of ones are skipped except for the last, whose length determines where the next logarithm is taken.
    pub fn product(&self) -> (LogProduct, usize) {
        let stretch = BLOCK / LANES;
        let total = self.width.div_ceil(LANES);
        let last = total.saturating_sub(1) / stretch;
        let (mut product, mut variances, mut at) = (LogProduct::default(), 0, 0);
        loop {
            let now = self.indices.get(at).map_or(last, |&index| index as usize / stretch);
            let mut lanes = ProductLanes::default();
            let first = at;
            while self.indices.get(at).is_some_and(|&index| index as usize / stretch == now) {
                let inverses = self.blocks[at].inverses;
                variances += inverses.iter().filter(|&&inverse| inverse > 0.0).count();
                lanes.times(&inverses.map(|inverse| if inverse > 0.0 { inverse } else { 1.0 }));
                at += 1;
            }
            let size = stretch.min(total - now * stretch);
            lanes.times_ones(size - (at - first));
            product.times_lanes(&lanes, LANES * size);
            if now >= last {
                return (product, variances);
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.indices.capacity() * 4 + self.blocks.capacity() * std::mem::size_of::<Block>()
    }
}
