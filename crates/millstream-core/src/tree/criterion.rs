//! The merit of a split, from the class weights in its branches.
//!
//! * Information gain (Quinlan, 1986): H(before) − Σ_b w_b/w H(b), H(p) = −Σ p log₂ p; at most log₂ of the number of
//!   classes. Before the split are the examples of all branches together, and no others: see docs/notes/trees.md.
//! * Gini (Breiman et al., 1984): the same with 1 − Σ p² for H; at most 1.
//! * Hellinger (Cieslak and Chawla, 2008): √Σ_b (√P(b | c) − √P(b | not c))², the most over classes c, which does not
//!   depend on how rare a class is; at most √2.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    InformationGain,
    Gini,
    Hellinger,
}

impl Criterion {
    /// The merit of a split into `branches`, each by class; −∞ if fewer than two of them have more than `least` of the
    /// weight.
    pub fn merit<'a>(self, branches: impl Iterator<Item = &'a [f64]> + Clone, least: f64) -> f64 {
        let total: f64 = branches.clone().map(sum).sum();
        let large = branches.clone().filter(|branch| sum(branch) / total > least).count();
        if large < 2 {
            return f64::NEG_INFINITY;
        }
        let classes = 0..branches.clone().next().map_or(0, <[f64]>::len);
        match self {
            Criterion::InformationGain | Criterion::Gini => {
                let before = classes.map(|class| branches.clone().map(|branch| branch[class]).sum());
                let after: f64 = branches
                    .clone()
                    .map(|branch| {
                        let weight = sum(branch);
                        weight / total * self.impurity(branch.iter().copied(), weight)
                    })
                    .sum();
                self.impurity(before, total) - after
            }
            Criterion::Hellinger => {
                classes.map(|class| hellinger(class, total, branches.clone())).fold(0.0, f64::max)
            }
        }
    }

    pub fn impurity(self, weights: impl Iterator<Item = f64>, total: f64) -> f64 {
        let shares = weights.filter(|&weight| weight > 0.0).map(|weight| weight / total);
        match self {
            Criterion::Gini if total > 0.0 => 1.0 - shares.map(|share| share * share).sum::<f64>(),
            Criterion::Gini => 0.0,
            _ => -shares.map(|share| share * share.log2()).sum::<f64>(),
        }
    }

    /// The range of the merit for a number of classes.
    pub fn range(self, classes: usize) -> f64 {
        match self {
            Criterion::InformationGain => (classes.max(2) as f64).log2(),
            Criterion::Gini => 1.0,
            Criterion::Hellinger => std::f64::consts::SQRT_2,
        }
    }
}

fn sum(weights: &[f64]) -> f64 {
    weights.iter().sum()
}

/// The distance between one class and the rest; 0 if one of the two is absent.
fn hellinger<'a>(class: usize, total: f64, branches: impl Iterator<Item = &'a [f64]> + Clone) -> f64 {
    let own: f64 = branches.clone().map(|branch| branch[class]).sum();
    let rest = total - own;
    if own <= 0.0 || rest <= 0.0 {
        return 0.0;
    }
    let distance = |branch: &[f64]| {
        let difference = (branch[class] / own).sqrt() - ((sum(branch) - branch[class]).max(0.0) / rest).sqrt();
        difference * difference
    };
    branches.map(distance).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merit(criterion: Criterion, branches: &[[f64; 2]], least: f64) -> f64 {
        criterion.merit(branches.iter().map(|branch| &branch[..]), least)
    }

    #[test]
    fn merits_by_hand() {
        // Before 4 : 4, after 3 : 1 and 1 : 3. Entropy 1 before; after −¾ log₂ ¾ − ¼ log₂ ¼ = 0.811278.
        let split = [[3.0, 1.0], [1.0, 3.0]];
        assert!((merit(Criterion::InformationGain, &split, 0.01) - (1.0 - 0.811_278_124_459_132_8)).abs() < 1e-15);
        // Gini ½ before; after 1 − 9/16 − 1/16 = 3/8.
        assert!((merit(Criterion::Gini, &split, 0.01) - 0.125).abs() < 1e-15);
        // (√¾ − √¼)² twice, under the root.
        let expected = (2.0 * (0.75f64.sqrt() - 0.5).powi(2)).sqrt();
        assert!((merit(Criterion::Hellinger, &split, 0.01) - expected).abs() < 1e-15);
        // Two branches of three suffice; one of two does not.
        assert!(merit(Criterion::Gini, &[[3.0, 1.0], [1.0, 3.0], [0.0, 0.0]], 0.01).is_finite());
        assert_eq!(merit(Criterion::InformationGain, &[[99.5, 100.0], [0.0, 0.5]], 0.01), f64::NEG_INFINITY);
    }
}
