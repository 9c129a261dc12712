//! The number and the mean of the rewards of each action.

use serde::{Deserialize, Serialize};

/// By code; codes beyond the end have no rewards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    counts: Vec<f64>,
    means: Vec<f64>,
}

impl Means {
    /// The number of rewards of an action.
    #[inline]
    pub fn count(&self, action: u32) -> f64 {
        self.counts.get(action as usize).copied().unwrap_or(0.0)
    }

    /// The mean reward of an action; infinity before its first, so that every action is tried.
    #[inline]
    pub fn optimistic(&self, action: u32) -> f64 {
        match self.count(action) > 0.0 {
            true => self.means[action as usize],
            false => f64::INFINITY,
        }
    }

    /// The mean reward of an action, if it has any.
    pub fn mean(&self, action: u32) -> Option<f64> {
        (self.count(action) > 0.0).then(|| self.means[action as usize])
    }

    pub fn add(&mut self, action: u32, reward: f64) {
        let index = action as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0.0);
            self.means.resize(index + 1, 0.0);
        }
        self.counts[index] += 1.0;
        self.means[index] += (reward - self.means[index]) / self.counts[index];
    }

    /// Add the rewards of another one, or take them away if `sign` is −1; `codes` are ours of its actions.
    pub fn merge(&mut self, other: &Means, codes: &[u32], sign: f64) {
        for ((&count, &mean), &code) in other.counts.iter().zip(&other.means).zip(codes) {
            if count == 0.0 || code == u32::MAX {
                continue;
            }
            let index = code as usize;
            if index >= self.counts.len() {
                self.counts.resize(index + 1, 0.0);
                self.means.resize(index + 1, 0.0);
            }
            let total = self.counts[index] + sign * count;
            self.means[index] = match total > 0.0 {
                true => self.means[index] + (mean - self.means[index]) * (sign * count / total),
                false => 0.0,
            };
            self.counts[index] = total.max(0.0);
        }
    }

    pub fn forget(&mut self, action: u32) {
        if let Some(count) = self.counts.get_mut(action as usize) {
            *count = 0.0;
            self.means[action as usize] = 0.0;
        }
    }

    /// Whether it could have been saved.
    pub fn is_valid(&self) -> bool {
        self.counts.len() == self.means.len()
            && self.counts.iter().all(|&count| count >= 0.0 && count.is_finite())
            && self.means.iter().all(|mean| mean.is_finite())
    }

    pub fn memory(&self) -> usize {
        8 * (self.counts.capacity() + self.means.capacity())
    }
}

/// Replace values by probabilities: the largest ones share 1, and the others have 0.
pub fn share_among_best(values: &mut [f64]) {
    let (mut best, mut ties) = (f64::NEG_INFINITY, 0_u32);
    for &value in values.iter() {
        if value > best {
            (best, ties) = (value, 1);
        } else if value == best {
            ties += 1;
        }
    }
    let share = 1.0 / f64::from(ties.max(1));
    for value in values {
        *value = if *value == best { share } else { 0.0 };
    }
}

/// (1 − share) p + share / k for each of k probabilities.
pub fn mix_with_uniform(probabilities: &mut [f64], share: f64) {
    let uniform = share / probabilities.len() as f64;
    for probability in probabilities {
        *probability = (1.0 - share) * *probability + uniform;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_the_rewards() {
        // 2, then 5: the mean is 2 + (5 − 2)/2 = 3.5.
        let mut means = Means::default();
        means.add(1, 2.0);
        means.add(1, 5.0);
        assert_eq!((means.count(1), means.mean(1), means.mean(0)), (2.0, Some(3.5), None));
        assert_eq!((means.optimistic(0), means.optimistic(9)), (f64::INFINITY, f64::INFINITY));
        means.forget(1);
        assert_eq!((means.count(1), means.is_valid()), (0.0, true));
    }

    #[test]
    fn means_are_merged() {
        // Base: 2. Here also 4 and 6, there also 8, where the action has another code: (2 + 4 + 6 + 8)/4 = 5.
        let (mut ours, mut theirs, mut base) = (Means::default(), Means::default(), Means::default());
        [2.0, 4.0, 6.0].into_iter().for_each(|reward| ours.add(0, reward));
        [2.0, 8.0].into_iter().for_each(|reward| theirs.add(1, reward));
        base.add(1, 2.0);
        ours.merge(&theirs, &[u32::MAX, 0], 1.0);
        ours.merge(&base, &[u32::MAX, 0], -1.0);
        assert_eq!((ours.count(0), ours.mean(0)), (4.0, Some(5.0)));
        // Nothing is left of what was learned once.
        let mut none = base.clone();
        none.merge(&base, &[0, 1], -1.0);
        assert_eq!((none.count(1), none.mean(1)), (0.0, None));
    }

    #[test]
    fn ties_share() {
        let mut values = [3.0, 1.0, 3.0, f64::NEG_INFINITY];
        share_among_best(&mut values);
        assert_eq!(values, [0.5, 0.0, 0.5, 0.0]);
    }
}
