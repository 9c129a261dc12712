//! The gradient of a loss by all parameters of a network, summed over examples, in the blocks of the parameters.

/// A sum of gradients. Rows of the first and of the last block (coordinates, vectors of nominal values) that no example
/// has touched stay 0 and cost nothing.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    pub blocks: Vec<Vec<f64>>,
    pub examples: f64,
    /// Touched rows of the input block, the biases being row 0, and of the vectors.
    pub inputs: Touched,
    pub vectors: Touched,
}

/// Rows of a block, each once.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    pub rows: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Touched {
    #[inline]
    pub fn add(&mut self, row: usize) {
        if !std::mem::replace(&mut self.is_touched[row], true) {
            self.rows.push(row as u32);
        }
    }

    fn resize(&mut self, rows: usize) {
        if rows < self.is_touched.len() {
            self.rows.retain(|&row| (row as usize) < rows);
        }
        self.is_touched.resize(rows, false);
    }

    fn clear(&mut self) {
        for row in self.rows.drain(..) {
            self.is_touched[row as usize] = false;
        }
    }
}

impl Gradient {
    /// Make room for blocks of these sizes, of which the first has rows of `units` numbers and the last of `size`.
    pub fn fit(&mut self, sizes: impl ExactSizeIterator<Item = usize>, units: usize, size: usize) {
        let count = sizes.len();
        self.blocks.resize(count, Vec::new());
        for (index, (block, wanted)) in self.blocks.iter_mut().zip(sizes).enumerate() {
            block.resize(wanted, 0.0);
            if index == 0 {
                self.inputs.resize(wanted / units);
            }
            if index + 1 == count {
                self.vectors.resize(wanted / size.max(1));
            }
        }
    }

    /// Whether every number of the first block was touched.
    pub fn touches_all(&self) -> bool {
        self.inputs.rows.len() == self.inputs.is_touched.len()
    }

    #[inline]
    pub fn add_row(&mut self, block: usize, start: usize, factor: f64, numbers: &[f64]) {
        let row = &mut self.blocks[block][start..start + numbers.len()];
        row.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += factor * number);
    }

    /// Visit the numbers that may differ from 0, as slices of a block.
    pub fn each_part(&self, units: usize, size: usize, mut visit: impl FnMut(usize, usize, &[f64])) {
        let last = self.blocks.len().saturating_sub(1);
        for (index, block) in self.blocks.iter().enumerate() {
            let rows = match index {
                0 if !self.touches_all() => Some((&self.inputs, units)),
                _ if index == last => Some((&self.vectors, size)),
                _ => None,
            };
            match rows {
                None => visit(index, 0, block),
                Some((touched, length)) => {
                    for &row in &touched.rows {
                        let start = row as usize * length;
                        visit(index, start, &block[start..start + length]);
                    }
                }
            }
        }
    }

    /// Set all numbers to 0, at a cost proportional to those touched.
    pub fn clear(&mut self, units: usize, size: usize) {
        let last = self.blocks.len().saturating_sub(1);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let (touched, length) = match index {
                0 => (&self.inputs, units),
                _ if index == last => (&self.vectors, size),
                _ => {
                    block.fill(0.0);
                    continue;
                }
            };
            for &row in &touched.rows {
                block[row as usize * length..(row as usize + 1) * length].fill(0.0);
            }
        }
        self.inputs.clear();
        self.vectors.clear();
        self.examples = 0.0;
    }

    pub fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            self.blocks.iter_mut().flatten().for_each(|number| *number *= factor);
        }
    }

    pub fn memory(&self) -> usize {
        let touched = [&self.inputs, &self.vectors];
        self.blocks.iter().map(|block| 24 + 8 * block.capacity()).sum::<usize>()
            + touched
                .iter()
                .map(|touched| 4 * touched.rows.capacity() + touched.is_touched.capacity())
                .sum::<usize>()
    }
}
