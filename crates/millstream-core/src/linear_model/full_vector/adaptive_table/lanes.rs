//! The parts of a step that are computed for several scores in a register.
//!
//! Only additions, multiplications, divisions and square roots, which are exact to the last bit on every processor; fused
//! operations would not be.

use pulp::{Simd, WithSimd};

use super::{AdaptiveTable, TableRow};

/// Σ wᵢ xᵢ and the constant.
pub(super) struct Scoring<'a, 'b> {
    pub(super) table: &'a mut AdaptiveTable,
    pub(super) row: TableRow<'b>,
}

impl WithSimd for Scoring<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Scoring { table, row } = self;
        let (w, _) = S::as_simd_f64s(&table.w);
        let (scores, _) = S::as_mut_simd_f64s(&mut table.row.scores);
        let (registers, constant) = (scores.len(), (table.least.len() - 1) * scores.len());
        for (register, score) in scores.iter_mut().enumerate() {
            let mut sum = simd.splat_f64s(-0.0);
            for (&place, &x) in row.places.iter().zip(row.x) {
                let weights = w[place as usize * registers + register];
                sum = simd.add_f64s(sum, simd.mul_f64s(weights, simd.splat_f64s(x)));
            }
            *score = simd.add_f64s(sum, w[constant + register]);
        }
    }
}

/// q, a and √a of each feature, and their sums.
pub(super) struct Looking<'a> {
    pub(super) table: &'a mut AdaptiveTable,
}

impl WithSimd for Looking<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let AdaptiveTable { a, m, row, stride, .. } = self.table;
        let ((a, _), (m, _)) = (S::as_simd_f64s(a), S::as_simd_f64s(m));
        let (pulls, _) = S::as_simd_f64s(&row.pulls[..*stride]);
        let (reaches, _) = S::as_mut_simd_f64s(&mut row.reaches);
        let (norms, _) = S::as_mut_simd_f64s(&mut row.norms);
        let (unsound, _) = S::as_mut_simd_f64s(&mut row.unsound);
        let ((q, _), (fallen, _)) = (S::as_mut_simd_f64s(&mut row.q), S::as_mut_simd_f64s(&mut row.fallen));
        let (next_a, _) = S::as_mut_simd_f64s(&mut row.next_a);
        let (registers, zero) = (pulls.len(), simd.splat_f64s(0.0));
        for register in 0..registers {
            let (pull, mut reach, mut norm, mut infinite) = (pulls[register], zero, zero, zero);
            for (feature, (&place, &x)) in row.places.iter().zip(&row.x).enumerate() {
                let (from, to) = (place as usize * registers + register, feature * registers + register);
                let unit = simd.div_f64s(simd.splat_f64s(x), m[from]);
                let sum = simd.add_f64s(a[from], simd.mul_f64s(simd.mul_f64s(pull, unit), unit));
                let root = simd.sqrt_f64s(sum);
                let square = simd.mul_f64s(unit, unit);
                reach = simd.add_f64s(reach, simd.div_f64s(square, root));
                norm = simd.add_f64s(norm, square);
                infinite = simd.add_f64s(infinite, simd.mul_f64s(sum, zero));
                (q[to], fallen[to], next_a[to]) = (unit, root, sum);
            }
            (reaches[register], norms[register], unsound[register]) = (reach, norm, infinite);
        }
    }
}

/// The next weights.
pub(super) struct Moving<'a> {
    pub(super) table: &'a mut AdaptiveTable,
}

impl WithSimd for Moving<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let AdaptiveTable { w, m, row, .. } = self.table;
        let ((w, _), (m, _)) = (S::as_simd_f64s(w), S::as_simd_f64s(m));
        let (alongs, _) = S::as_simd_f64s(&row.alongs);
        let (unsound, _) = S::as_mut_simd_f64s(&mut row.unsound);
        let ((q, _), (fallen, _)) = (S::as_simd_f64s(&row.q), S::as_simd_f64s(&row.fallen));
        let (next_w, _) = S::as_mut_simd_f64s(&mut row.next_w);
        let (registers, zero) = (alongs.len(), simd.splat_f64s(0.0));
        for (register, &along) in alongs.iter().enumerate() {
            let mut infinite = unsound[register];
            for (feature, &place) in row.places.iter().enumerate() {
                let (from, at) = (place as usize * registers + register, feature * registers + register);
                let change = simd.div_f64s(simd.mul_f64s(along, q[at]), fallen[at]);
                let weight = simd.add_f64s(w[from], simd.div_f64s(change, m[from]));
                infinite = simd.add_f64s(infinite, simd.mul_f64s(weight, zero));
                next_w[at] = weight;
            }
            unsound[register] = infinite;
        }
    }
}
