//! Symmetric matrices as packed lower triangles, row by row, and sums of products of rows.

use pulp::{Arch, Simd, WithSimd};

/// Start of row i of a triangle: also the number of entries of a triangle of i rows.
pub fn triangle(i: usize) -> usize {
    i * (i + 1) / 2
}

/// S ← S + GᵀG, in tiles of four by four entries that stay in registers for all rows of G, each filled with zeros
/// to a multiple of four numbers. Compiled for several instruction sets; every operation rounds as IEEE 754 says,
/// so the results are the same with all of them.
pub fn add_products(arch: Arch, sums: &mut [f64], rows: &[f64], width: usize) {
    arch.dispatch(AddProducts { sums, rows, width });
}

struct AddProducts<'a> {
    sums: &'a mut [f64],
    rows: &'a [f64],
    width: usize,
}

impl WithSimd for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let AddProducts { sums, rows, width } = self;
        let (groups, rows) = (width.div_ceil(4), rows.as_chunks::<4>().0);
        for i in 0..groups {
            for j in 0..=i {
                let mut tile = [[0.0; 4]; 4];
                for row in rows.chunks_exact(groups) {
                    let (a, b) = (row[i], row[j]);
                    for k in 0..4 {
                        for l in 0..4 {
                            tile[k][l] += a[k] * b[l];
                        }
                    }
                }
                for (k, products) in tile.iter().enumerate().take(width - 4 * i) {
                    let count = if i == j { k + 1 } else { 4 };
                    let start = triangle(4 * i + k) + 4 * j;
                    let sums = &mut sums[start..start + count];
                    for l in 0..sums.len().min(4) {
                        sums[l] += products[l];
                    }
                }
            }
        }
    }
}
