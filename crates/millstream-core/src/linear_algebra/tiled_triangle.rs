//! A unit upper triangular matrix, and the two loops over it that an update of a covariance is made of.
//!
//! It lies in tiles of four columns by four rows: the tiles that cover columns 0 to 3, then those of columns 4 to 7, and
//! so on, from the top down to the diagonal. A tile goes through the processor at once, in vector registers and without
//! remainders. The ones of the diagonal and the zeros below take part in the arithmetic, which leaves them as they are.

use std::hint::black_box;

/// So many columns make a group, and so many rows a tile.
pub const LANES: usize = 4;

pub type Four = [f64; LANES];

/// By column, then by row.
pub type Tile = [Four; LANES];

/// The sum of the even and of the odd terms of a product with each column of a group.
pub type Strands = [[f64; 2]; LANES];

/// How many groups make up `n` columns.
pub const fn groups(n: usize) -> usize {
    n.div_ceil(LANES)
}

/// The next multiple of four.
pub const fn padded(n: usize) -> usize {
    groups(n) * LANES
}

/// How many tiles make up so many groups.
pub const fn tiles(groups: usize) -> usize {
    groups * (groups + 1) / 2
}

/// Which number it is that stands in row `i` and column `j`, at or above the diagonal.
pub const fn index(i: usize, j: usize) -> usize {
    LANES * (LANES * (tiles(j / LANES) + i / LANES) + j % LANES) + i % LANES
}

/// Σ aᵢ bᵢ in four partial sums, which zeros at the end do not change.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..n].as_chunks::<LANES>(), b[..n].as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for i in 0..a.len().min(b.len()) {
        add_product(&mut sums, &a[i], &b[i]);
    }
    for i in 0..a_rest.len().min(b_rest.len()).min(LANES) {
        sums[i] += a_rest[i] * b_rest[i];
    }
    total(sums)
}

#[inline(always)]
fn add_product(sums: &mut Four, a: &Four, b: &Four) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

#[inline(always)]
pub fn total(sums: Four) -> f64 {
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Uᵀx for the columns of group `g`, whose tiles are given; `x` is filled with zeros to a multiple of four. What is
/// still to be added up is left to the caller, who writes it to memory first: otherwise the compiler would turn each
/// tile around to have the sums side by side.
// Indices over slices of one length, not iterators: those compile to the same only where all of them are inlined.
#[inline(always)]
pub fn strands(tiles: &[Tile], x: &[Four]) -> Strands {
    let n = tiles.len().min(x.len());
    let (tiles, x) = (&tiles[..n], &x[..n]);
    let mut sums = [[0.0; LANES]; LANES];
    for i in 0..n {
        for column in 0..LANES {
            add_product(&mut sums[column], &tiles[i][column], &x[i]);
        }
    }
    let mut strands = [[0.0; 2]; LANES];
    for column in 0..LANES {
        let [a, b, c, d] = sums[column];
        strands[column] = [a + c, b + d];
    }
    strands
}

/// Over columns j in order: uⱼ ← uⱼ + factorⱼ k, k ← k + alongⱼ (old uⱼ), with k = 0 at first. `steps` gives the factors
/// and the alongs of a group, and is asked for groups in order.
#[inline]
pub fn turn(all: &mut [Tile], n: usize, k: &mut [Four], mut steps: impl FnMut(usize) -> (Four, Four)) {
    let mut rest = all;
    for group in 0..groups(n) {
        let Some((tiles, after)) = rest.split_at_mut_checked(group + 1) else { return };
        rest = after;
        let (Some((diagonal, above)), Some((end, k))) = (tiles.split_last_mut(), k[..=group].split_last_mut())
        else {
            return;
        };
        let (factor, along) = steps(group);
        match n - group * LANES {
            1 => turn_above::<1>(above, factor, along, k),
            2 => turn_above::<2>(above, factor, along, k),
            3 => turn_above::<3>(above, factor, along, k),
            _ => turn_above::<4>(above, factor, along, k),
        }
        *end = turn_diagonal(diagonal, factor, along);
    }
}

/// The first `COLUMNS` columns of tiles above the diagonal.
#[inline(always)]
fn turn_above<const COLUMNS: usize>(tiles: &mut [Tile], factor: Four, along: Four, k: &mut [Four]) {
    let n = tiles.len().min(k.len());
    let (tiles, k) = (&mut tiles[..n], &mut k[..n]);
    for i in 0..n {
        let mut gain = k[i];
        for column in 0..COLUMNS {
            gain = turn_column(&mut tiles[i][column], gain, factor[column], along[column]);
        }
        k[i] = gain;
        // Keeps the compiler from doing two tiles side by side, which it does number by number: 25 ns of 170 at 20
        // columns.
        black_box(());
    }
}

#[inline(always)]
fn turn_column(u: &mut Four, k: Four, factor: f64, along: f64) -> Four {
    let (old, mut next) = (*u, k);
    for lane in 0..LANES {
        u[lane] = old[lane] + factor * k[lane];
        next[lane] = k[lane] + along * old[lane];
    }
    next
}

/// The tile on the diagonal, where k is still 0: of its eight halves of columns the four that are not the same after as
/// before.
#[inline(always)]
fn turn_diagonal(tile: &mut Tile, factor: Four, along: Four) -> Four {
    let [_, b, c, [d0, d1, e0, e1]] = *tile;
    let (b, k) = turn_two([b[0], b[1]], [along[0], 0.0], factor[1], along[1]);
    let (c, k) = turn_two([c[0], c[1]], k, factor[2], along[2]);
    let (d, k) = turn_two([d0, d1], k, factor[3], along[3]);
    let (e, low) = turn_two([e0, e1], [along[2], 0.0], factor[3], along[3]);
    (tile[1][0], tile[1][1]) = (b[0], b[1]);
    (tile[2][0], tile[2][1]) = (c[0], c[1]);
    tile[3] = [d[0], d[1], e[0], e[1]];
    [k[0], k[1], low[0], low[1]]
}

#[inline(always)]
fn turn_two(u: [f64; 2], k: [f64; 2], factor: f64, along: f64) -> ([f64; 2], [f64; 2]) {
    ([u[0] + factor * k[0], u[1] + factor * k[1]], [k[0] + along * u[0], k[1] + along * u[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns 0 to 3 make one tile, columns 4 to 7 two: row 5 of column 6 is in the third tile, 16 numbers each, in its
    /// third column, second row.
    #[test]
    fn numbers_lie_in_tiles() {
        assert_eq!([groups(0), groups(1), groups(4), groups(5)], [0, 1, 1, 2]);
        assert_eq!([tiles(0), tiles(1), tiles(2), tiles(3)], [0, 1, 3, 6]);
        assert_eq!([index(0, 0), index(2, 3), index(0, 4), index(5, 6)], [0, 14, 16, 32 + 8 + 1]);
    }

    /// U = [[1, 2, 3], [0, 1, 4], [0, 0, 1]], x = (1, 10, 100): Uᵀx = (1, 2 + 10, 3 + 40 + 100), in even and odd terms
    /// (1, 0), (2, 10), (103, 40).
    #[test]
    fn a_product_by_hand() {
        let tile = [[1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [3.0, 4.0, 1.0, 0.0], [0.0; 4]];
        let found = strands(&[tile], &[[1.0, 10.0, 100.0, 0.0]]);
        assert_eq!(found, [[1.0, 0.0], [2.0, 10.0], [103.0, 40.0], [0.0, 0.0]]);
    }

    /// Tiles against the definition, column by column, for every number of columns in the last group.
    #[test]
    fn tiles_are_turned_as_columns_are() {
        for n in 1..=13 {
            let number = |i: usize| ((i * 37 + 11) % 29) as f64 / 16.0 - 1.0;
            let (factor, along) = (|j: usize| number(j + 3), |j: usize| number(2 * j + 5));
            let mut matrix = vec![vec![0.0; padded(n)]; n];
            let mut all = vec![[[0.0; LANES]; LANES]; tiles(groups(n))];
            for (j, column) in matrix.iter_mut().enumerate() {
                for (i, u) in column.iter_mut().enumerate().take(j + 1) {
                    *u = if i == j { 1.0 } else { number(i + 7 * j) };
                    all.as_flattened_mut().as_flattened_mut()[index(i, j)] = *u;
                }
            }
            let mut gain = vec![0.0; padded(n)];
            for (j, column) in matrix.iter_mut().enumerate() {
                for (u, k) in column.iter_mut().zip(&mut gain) {
                    (*u, *k) = (*u + factor(j) * *k, *k + along(j) * *u);
                }
            }
            let mut k = vec![[f64::NAN; LANES]; groups(n)];
            let four = |group: usize, of: &dyn Fn(usize) -> f64| {
                std::array::from_fn(|c| if group * LANES + c < n { of(group * LANES + c) } else { 0.0 })
            };
            turn(&mut all, n, &mut k, |group| (four(group, &factor), four(group, &along)));
            assert_eq!(k.as_flattened(), gain);
            for (j, column) in matrix.iter().enumerate() {
                for (i, u) in column.iter().enumerate().take(j + 1) {
                    assert_eq!(all.as_flattened().as_flattened()[index(i, j)], *u, "{n} {i} {j}");
                }
            }
        }
    }
}
