//! Two points of a Gaussian kernel become one that lies between them.
//!
//! Wang, Crammer and Vucetic (2012), section 4.3: a φ(x) + b φ(y) is nearest to a multiple of φ(z) for a z on the line
//! between the two, z = h x + (1 − h) y. With K = k(x, y) the kernel is k(x, z) = K^((1−h)²) and k(y, z) = K^(h²), the
//! best coefficient of z is a K^((1−h)²) + b K^(h²), and what is lost is a² + b² + 2 a b K less its square. With
//! several outputs, squares and products are sums over them.
//!
//! One of the two is the point that matters least; its partner is the one with which least is lost, found with h at
//! the quarters, where all powers are products of a 16th root of K. Only for the chosen one h is then searched for.

use crate::row::finite;

use super::expansion::Expansion;

/// The inner products of the coefficients of two points over the outputs: a·a, b·b, a·b.
#[derive(Clone, Copy, Debug)]
struct Pair {
    a: f64,
    b: f64,
    both: f64,
}

impl Pair {
    /// The square of the merged coefficients, with the two kernel values to the new point.
    fn square(&self, p: f64, q: f64) -> f64 {
        self.a * p * p + 2.0 * self.both * p * q + self.b * q * q
    }

    /// About the least that merging at kernel value K can lose.
    fn loss(&self, kernel: f64) -> f64 {
        let root = kernel.sqrt().sqrt().sqrt().sqrt();
        let fourth = root * root * root * root;
        let ninth = fourth * fourth * root;
        let most = [(kernel, 1.0), (ninth, root), (fourth, fourth), (root, ninth), (1.0, kernel)]
            .iter()
            .fold(0.0f64, |most, &(p, q)| most.max(self.square(p, q)));
        self.a + self.b + 2.0 * self.both * kernel - most
    }

    /// The h in [0, 1] at which least is lost, by golden section; an end where that is as good.
    fn best_position(&self, kernel: f64) -> f64 {
        let logarithm = kernel.max(1e-300).ln();
        let at = |h: f64| self.square((logarithm * (1.0 - h) * (1.0 - h)).exp(), (logarithm * h * h).exp());
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let (mut low, mut high) = (0.0, 1.0);
        let (mut left, mut right) = (1.0 - GOLDEN, GOLDEN);
        let (mut at_left, mut at_right) = (at(left), at(right));
        for _ in 0..40 {
            if at_left < at_right {
                (low, left, at_left) = (left, right, at_right);
                right = low + GOLDEN * (high - low);
                at_right = at(right);
            } else {
                (high, right, at_right) = (right, left, at_left);
                left = high - GOLDEN * (high - low);
                at_left = at(left);
            }
        }
        let between = 0.5 * (low + high);
        [0.0, 1.0].into_iter().fold(between, |best, end| if at(end) > at(best) { end } else { best })
    }
}

impl Expansion {
    /// Merge two of the old points and the new one.
    pub fn merge(&mut self) {
        let first = self.least();
        self.state.fade(self.work.decay);
        let Expansion { kernel, state, work, .. } = self;
        // The kernel values of the first point to all old ones.
        match first {
            Some(index) => {
                state.dictionary.points.read(index, &mut work.point);
                kernel.row(&state.dictionary.points, &work.point, &mut work.other_row);
            }
            None => {
                work.point.clone_from(&work.x);
                work.other_row.clone_from(&work.row);
            }
        }
        // By output: the coefficients of the first point, which are then merged with those of the second.
        work.numbers.clear();
        match first {
            Some(index) => work.numbers.extend(state.coefficients.iter().map(|of| of[index])),
            None => work.numbers.extend_from_slice(&work.step),
        }
        let own: f64 = work.numbers.iter().map(|a| a * a).sum();
        let mut partner = None;
        let mut least = f64::INFINITY;
        if let Some(index) = first {
            let both = work.numbers.iter().zip(&work.step).map(|(a, b)| a * b).sum();
            let pair = Pair { a: own, b: work.step.iter().map(|b| b * b).sum(), both };
            least = pair.loss(work.row[index]);
        }
        for index in (0..state.born.len()).filter(|&index| Some(index) != first) {
            let both = work.numbers.iter().zip(&state.coefficients).map(|(a, of)| a * of[index]).sum();
            let loss = Pair { a: own, b: state.square(index), both }.loss(work.other_row[index]);
            if loss < least {
                (partner, least) = (Some(index), loss);
            }
        }
        let (between, b): (f64, f64) = match (partner, first) {
            (Some(index), _) => (work.other_row[index], state.square(index)),
            (None, Some(index)) => (work.row[index], work.step.iter().map(|b| b * b).sum()),
            // A budget of one point, which is then the old one, always has a partner.
            (None, None) => return,
        };
        let second = |output: usize| partner.map_or(work.step[output], |index| state.coefficients[output][index]);
        let both = work.numbers.iter().enumerate().map(|(output, a)| a * second(output)).sum();
        let h = Pair { a: own, b, both }.best_position(between);
        let logarithm = between.max(1e-300).ln();
        let (p, q) = ((logarithm * (1.0 - h) * (1.0 - h)).exp(), (logarithm * h * h).exp());
        for output in 0..work.numbers.len() {
            work.numbers[output] = finite(work.numbers[output] * p + second(output) * q);
        }
        let index = partner.or(first).unwrap_or_default();
        let born = state.born[index].max(if partner.is_some() { 0.0 } else { state.t + 1.0 });
        match partner {
            Some(partner) => state.dictionary.points.between(h, partner, &mut work.point),
            None => work.point.mix(h, &work.x),
        }
        if let (Some(first), Some(_)) = (first, partner) {
            self.replace(first);
        }
        let (state, work) = (&mut self.state, &self.work);
        state.dictionary.write(index, &work.point, 1.0);
        state.born[index] = born;
        state.coefficients.iter_mut().zip(&work.numbers).for_each(|(of, &merged)| of[index] = merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two points of coefficient 1 with K = 1/2: by symmetry h = 1/2, where p = q = K^(1/4) = 0.8409; the merged
    /// coefficient is 1.6818, its square 2.8284 = 4 √(1/2), and of a² + b² + 2abK = 3 there is lost 0.1716.
    #[test]
    fn two_equal_points_by_hand() {
        let pair = Pair { a: 1.0, b: 1.0, both: 1.0 };
        assert!((pair.best_position(0.5) - 0.5).abs() < 1e-6);
        assert!((pair.loss(0.5) - (3.0 - 8f64.sqrt())).abs() < 1e-14);
    }

    /// Opposite signs do not meet: the smaller one is projected on the larger, whose coefficient is 2 − 1 · K.
    /// Lost: 1 + 4 − 4 K less (2 − K)²: with K = 1/2, 3 − 2.25.
    #[test]
    fn opposite_points_by_hand() {
        let pair = Pair { a: 1.0, b: 4.0, both: -2.0 };
        assert_eq!(pair.best_position(0.5), 0.0);
        assert!((pair.loss(0.5) - 0.75).abs() < 1e-15);
    }
}
