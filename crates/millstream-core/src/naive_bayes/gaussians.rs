//! Means and variances of many numbers, two to a block, ready to be read and updated in vector registers.
//!
//! The moments follow West (1979): n ← n + w, δ = x − m, m ← m + δ w/n, s ← s + w δ (x − m). The inverse
//! variance (n − ddof) / s is kept beside them; it is 0 where there is no variance.

use super::likelihood::{LogProduct, ProductLanes, BLOCK};

pub const LANES: usize = 2;
/// A variance or a sum of squares beyond this is an overflow.
const LARGEST: f64 = 1e300;
/// A variance below this, but not 0, is not for the fast kernel.
const SMALLEST: f64 = 1e-300;

#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    pub means: [f64; LANES],
    /// Σ w (x − mean)²
    pub squares: [f64; LANES],
    pub inverses: [f64; LANES],
}

/// The moments of one number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub mean: f64,
    pub squares: f64,
}

impl Moments {
    /// West's step; the increment can only be negative by rounding, when one weight outweighs the rest.
    pub fn updated(self, x: f64, step: Step) -> Moments {
        let delta = x - self.mean;
        let mean = self.mean + delta * step.fraction;
        let increment = step.w * (delta * (x - mean));
        Moments { mean, squares: self.squares + if increment < 0.0 { 0.0 } else { increment } }
    }

    /// Whether all that is computed from them stays finite.
    pub fn sound(&self, divisor: f64) -> bool {
        self.mean.is_finite() && self.squares <= LARGEST && (divisor <= 0.0 || self.squares <= LARGEST * divisor)
    }

    /// 0 without variance, or with one that is indistinguishable from 0.
    fn inverse_variance(&self, divisor: f64) -> f64 {
        let inverse = divisor / self.squares;
        if inverse > 0.0 && inverse <= f64::MAX {
            inverse
        } else {
            0.0
        }
    }
}

/// From a count of n − w to n.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub w: f64,
    /// w / n
    pub fraction: f64,
    /// n − ddof
    pub divisor: f64,
}

impl Step {
    pub fn new(w: f64, n: f64, ddof: f64) -> Self {
        Step { w, fraction: w / n, divisor: n - ddof }
    }
}

/// A plain row cut into pairs, the last filled up with 0.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    whole: &'a [f64],
    last: Option<[f64; LANES]>,
}

impl<'a> Pairs<'a> {
    #[inline(always)]
    pub fn new(x: &'a [f64]) -> Self {
        let (whole, rest) = x.split_at(x.len() / LANES * LANES);
        Pairs { whole, last: rest.first().map(|&x| [x, 0.0]) }
    }

    #[inline(always)]
    fn whole(&self) -> impl Iterator<Item = [f64; LANES]> + 'a {
        self.whole.chunks_exact(LANES).map(|pair| [pair[0], pair[1]])
    }
}

#[derive(Clone, Debug, Default)]
pub struct Gaussians {
    width: usize,
    /// In a lane beyond the width the mean is 0.
    blocks: Vec<Block>,
}

impl Gaussians {
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn grow(&mut self, width: usize) {
        if width > self.width {
            self.width = width;
            self.blocks.resize(width.div_ceil(LANES), Block::default());
        }
    }

    pub fn moments(&self, slot: usize) -> Moments {
        match self.blocks.get(slot / LANES) {
            Some(block) => Moments { mean: block.means[slot % LANES], squares: block.squares[slot % LANES] },
            None => Moments::default(),
        }
    }

    pub fn inverse(&self, slot: usize) -> f64 {
        self.blocks.get(slot / LANES).map_or(0.0, |block| block.inverses[slot % LANES])
    }

    pub fn set(&mut self, slot: usize, moments: Moments, divisor: f64) {
        self.grow(slot + 1);
        self.blocks[slot / LANES].put(slot % LANES, moments, divisor);
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub fn set_block(&mut self, index: usize, block: Block) {
        self.blocks[index] = block;
    }

    /// Σ (x − mean)² / variance, for a row of the same width.
    #[inline(always)]
    pub fn quadratic_form(&self, x: &Pairs<'_>) -> f64 {
        let mut form = [0.0; LANES];
        for (block, x) in self.blocks.iter().zip(x.whole()) {
            block.add_distances(x, &mut form);
        }
        if let (Some(x), Some(block)) = (x.last, self.blocks.last()) {
            block.add_distances(x, &mut form);
        }
        form[0] + form[1]
    }

    /// Whether `propose` may be used, if all have a variance: else the increment may be negative, or the
    /// product of mantissas may overflow.
    #[inline(always)]
    pub fn suits(&self, step: Step) -> bool {
        step.fraction < 0.9 && self.width <= BLOCK && step.divisor > 0.0
    }

    /// Write the statistics after a row of the same width into `new`, where all have a variance. Returns the
    /// quadratic form of the row *before*, and the product of the new inverse variances; none if a number
    /// overflows or nearly does.
    #[inline(always)]
    pub fn propose(&self, x: &Pairs<'_>, step: Step, new: &mut Gaussians) -> (f64, Option<LogProduct>) {
        new.resize_like(self);
        let mut sums = Sums::default();
        for ((old, new), x) in self.blocks.iter().zip(&mut new.blocks).zip(x.whole()) {
            *new = old.updated(x, step, &mut sums);
        }
        if let (Some(x), Some(old), Some(new)) = (x.last, self.blocks.last(), new.blocks.last_mut()) {
            let mut old = *old;
            // So that the lane beyond the width has the inverse 1 and leaves the product as it is.
            old.squares[1] = step.divisor;
            *new = old.updated(x, step, &mut sums);
        }
        let spread = sums.spread[0] + sums.spread[1];
        let lowest = sums.lowest[0].min(sums.lowest[1]);
        let scale = step.divisor.min(1.0);
        let sound = spread <= LARGEST * scale && lowest >= SMALLEST * step.divisor.max(1.0);
        let mut product = LogProduct::default();
        product.times_lanes(&sums.lanes, LANES * self.blocks.len());
        (sums.form[0] + sums.form[1], sound.then_some(product))
    }

    #[inline(always)]
    fn resize_like(&mut self, other: &Gaussians) {
        if self.width != other.width {
            self.width = other.width;
            self.blocks.clear();
            self.blocks.resize(other.blocks.len(), Block::default());
        }
    }

    /// The same for any state, number by number; none on overflow.
    pub fn propose_any(&self, x: &[f64], step: Step, new: &mut Gaussians) -> Option<LogProduct> {
        new.resize_like(self);
        let mut sound = true;
        for (slot, &x) in x.iter().enumerate() {
            let moments = self.moments(slot).updated(x, step);
            sound &= moments.sound(step.divisor);
            new.set(slot, moments, step.divisor);
        }
        sound.then(|| new.product())
    }

    /// The product of the inverse variances of all that have a variance.
    pub fn product(&self) -> LogProduct {
        let mut product = LogProduct::default();
        for blocks in self.blocks.chunks(BLOCK / LANES) {
            let mut lanes = ProductLanes::default();
            for block in blocks {
                lanes.times(&block.inverses.map(|inverse| if inverse > 0.0 { inverse } else { 1.0 }));
            }
            product.times_lanes(&lanes, LANES * blocks.len());
        }
        product
    }

    pub fn memory(&self) -> usize {
        self.blocks.len() * std::mem::size_of::<Block>()
    }
}

struct Sums {
    form: [f64; LANES],
    /// Finite only if everything new is: gathers δ² and the new squares.
    spread: [f64; LANES],
    /// The lowest sum of squares.
    lowest: [f64; LANES],
    lanes: ProductLanes,
}

impl Default for Sums {
    fn default() -> Self {
        Sums { form: [0.0; 2], spread: [0.0; 2], lowest: [f64::MAX; 2], lanes: ProductLanes::default() }
    }
}

impl Block {
    #[inline]
    pub fn put(&mut self, lane: usize, moments: Moments, divisor: f64) {
        self.means[lane] = moments.mean;
        self.squares[lane] = moments.squares;
        self.inverses[lane] = moments.inverse_variance(divisor);
    }

    #[inline(always)]
    pub fn add_distances(&self, x: [f64; LANES], form: &mut [f64; LANES]) {
        for (lane, x) in x.into_iter().enumerate() {
            let delta = x - self.means[lane];
            form[lane] += delta * delta * self.inverses[lane];
        }
    }

    #[inline(always)]
    fn updated(&self, x: [f64; LANES], step: Step, sums: &mut Sums) -> Block {
        let mut new = Block::default();
        for (lane, x) in x.into_iter().enumerate() {
            let delta = x - self.means[lane];
            let mean = self.means[lane] + delta * step.fraction;
            let squares = self.squares[lane] + step.w * (delta * (x - mean));
            new.means[lane] = mean;
            new.squares[lane] = squares;
            new.inverses[lane] = step.divisor / squares;
            sums.form[lane] += delta * delta * self.inverses[lane];
            sums.spread[lane] += delta * delta + squares;
            sums.lowest[lane] = if squares < sums.lowest[lane] { squares } else { sums.lowest[lane] };
        }
        sums.lanes.times(&new.inverses);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_kernel_gives_what_the_plain_one_gives() {
        for width in [1, 2, 3, 10, 11] {
            let mut now = Gaussians::default();
            now.grow(width);
            let (mut fast, mut plain) = (Gaussians::default(), Gaussians::default());
            for row in 0..50 {
                let x: Vec<f64> = (0..width).map(|j| ((row * 7 + j * 3) % 11) as f64 * 0.37 - 1.0).collect();
                let step = Step::new(1.5, 1.5 * f64::from(row as u32 + 1), 0.0);
                let expected = now.propose_any(&x, step, &mut plain).unwrap();
                if row > 5 && now.suits(step) {
                    let form = now.quadratic_form(&Pairs::new(&x));
                    let (found_form, found) = now.propose(&Pairs::new(&x), step, &mut fast);
                    assert_eq!(found_form.to_bits(), form.to_bits());
                    assert_eq!(found.unwrap().logarithm().to_bits(), expected.logarithm().to_bits());
                    for slot in 0..width {
                        assert_eq!(fast.moments(slot), plain.moments(slot));
                        assert_eq!(fast.inverse(slot), plain.inverse(slot));
                    }
                }
                std::mem::swap(&mut now, &mut plain);
            }
        }
    }
}
