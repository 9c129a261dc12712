//! Worlds with known truth, to play policies in: they pay rewards, and know the expected reward of each action.
//!
//! What is random in a round is drawn when it begins, the same numbers whatever action is taken. So policies that play with
//! one seed meet the same world, and their difference has less noise. Parameters are checked by the Python classes.

use serde::Deserialize;

use crate::fault::{Fault, Result};
use crate::numeric::elementary::exp;
use crate::numeric::error_function::normal_below;
use crate::numeric::random::Random;

/// What a world is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Kind {
    /// Rewards 0 and 1 with these means.
    Bernoulli { means: Vec<f64> },
    /// Normal rewards with these means and one standard deviation.
    Gaussian { means: Vec<f64>, noise: f64 },
    /// Normal rewards about the product of the features with the weights of an action.
    Linear { weights: Vec<Vec<f64>>, noise: f64 },
    /// Rewards 0 and 1; the product is the logit of the mean.
    Logistic { weights: Vec<Vec<f64>> },
    /// The action is a price, and the reward that price if the customer buys: with probability 1/(1 + e^((price − value)/spread)),
    /// as long as there is stock, which is filled up at the start of each season.
    Pricing { prices: Vec<f64>, value: f64, spread: f64, stock: Option<u64>, season: u64 },
    /// The action is a bid in an auction where the winner pays the second price. The highest other bid is log-normal; a won
    /// impression is clicked with a probability, which is worth a value. Prices come from a budget, which is filled up at
    /// the start of each season.
    Auction { bids: Vec<f64>, value: f64, click: f64, location: f64, scale: f64, budget: Option<f64>, season: u64 },
    /// Worlds that follow each other, each for some rounds, over and over.
    Changing { worlds: Vec<Kind>, every: u64 },
}

#[derive(Clone, Debug)]
pub struct World {
    kind: Kind,
    random: Random,
    /// Number of rounds begun since the last reset.
    round: u64,
    features: Vec<f64>,
    means: Vec<f64>,
    /// What is random in the present round.
    unit: f64,
    other_unit: f64,
    normal: f64,
    /// Of the present season.
    stock: u64,
    budget: f64,
}

/// Separates the draws of a world from those of a policy with the same seed.
const PURPOSE: u64 = 0x0077_6f72_6c64;

impl Kind {
    fn actions(&self) -> usize {
        match self {
            Kind::Bernoulli { means } | Kind::Gaussian { means, .. } => means.len(),
            Kind::Linear { weights, .. } | Kind::Logistic { weights } => weights.len(),
            Kind::Pricing { prices, .. } => prices.len(),
            Kind::Auction { bids, .. } => bids.len(),
            Kind::Changing { worlds, .. } => worlds.first().map_or(0, Kind::actions),
        }
    }

    fn width(&self) -> usize {
        match self {
            Kind::Linear { weights, .. } | Kind::Logistic { weights } => weights.first().map_or(0, Vec::len),
            Kind::Changing { worlds, .. } => worlds.first().map_or(0, Kind::width),
            _ => 0,
        }
    }

    /// The world of a round, counted from 0.
    fn at(&self, round: u64) -> &Kind {
        match self {
            Kind::Changing { worlds, every } => {
                worlds[(round / (*every).max(1) % worlds.len() as u64) as usize].at(round)
            }
            kind => kind,
        }
    }

    /// Whether all worlds that follow each other have the same actions and features, and no worlds within.
    fn is_valid(&self) -> bool {
        let simple = |kind: &Kind| match kind {
            Kind::Linear { weights, .. } | Kind::Logistic { weights } => {
                weights.iter().all(|weights| weights.len() == kind.width())
            }
            Kind::Changing { .. } => false,
            _ => true,
        };
        match self {
            Kind::Changing { worlds, .. } => {
                let same = |kind: &Kind| kind.actions() == self.actions() && kind.width() == self.width();
                worlds.iter().all(|kind| simple(kind) && same(kind)) && self.actions() > 0
            }
            kind => simple(kind) && kind.actions() > 0,
        }
    }
}

impl World {
    /// From a description in JSON.
    pub fn described(description: &str) -> Result<Self> {
        let kind: Kind = serde_json::from_str(description)
            .map_err(|error| Fault::value(format!("bandit.worlds: not a description of a world: {error}")))?;
        if !kind.is_valid() {
            return Err(Fault::value("bandit.worlds: worlds that follow each other must have the same actions"));
        }
        let mut world = World {
            features: vec![0.0; kind.width()],
            means: vec![0.0; kind.actions()],
            kind,
            random: Random::new(0, PURPOSE),
            round: 0,
            unit: 0.5,
            other_unit: 0.5,
            normal: 0.0,
            stock: 0,
            budget: 0.0,
        };
        world.reset(0);
        Ok(world)
    }

    /// Return to the start, with the draws of a seed.
    pub fn reset(&mut self, seed: u64) {
        self.random = Random::new(seed, PURPOSE);
        self.round = 0;
        self.begin();
        self.round = 0;
        self.random = Random::new(seed, PURPOSE);
    }

    pub fn actions(&self) -> usize {
        self.means.len()
    }

    /// Number of rounds begun.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The features of the present round; none in a world without context.
    pub fn features(&self) -> &[f64] {
        &self.features
    }

    /// The expected rewards of the present round.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Begin the next round.
    pub fn begin(&mut self) {
        let World { random, means, features, .. } = self;
        let kind = self.kind.at(self.round);
        (self.unit, self.other_unit) = (random.unit(), random.unit());
        match kind {
            Kind::Gaussian { .. } | Kind::Linear { .. } | Kind::Auction { .. } => self.normal = random.gaussian(),
            _ => {}
        }
        features.iter_mut().for_each(|feature| *feature = random.gaussian());
        match kind {
            Kind::Bernoulli { means: known } | Kind::Gaussian { means: known, .. } => means.copy_from_slice(known),
            Kind::Linear { weights, .. } => product(weights, features, means),
            Kind::Logistic { weights } => {
                product(weights, features, means);
                means.iter_mut().for_each(|mean| *mean = sigmoid(*mean));
            }
            Kind::Pricing { prices, value, spread, stock, season } => {
                if self.round.is_multiple_of((*season).max(1)) {
                    self.stock = stock.unwrap_or(u64::MAX);
                }
                for (mean, price) in means.iter_mut().zip(prices) {
                    *mean = if self.stock > 0 { price * sigmoid((value - price) / spread) } else { 0.0 };
                }
            }
            Kind::Auction { bids, value, click, location, scale, budget, season } => {
                if self.round.is_multiple_of((*season).max(1)) {
                    self.budget = budget.unwrap_or(f64::INFINITY);
                }
                for (mean, &bid) in means.iter_mut().zip(bids) {
                    let most = bid.min(self.budget);
                    *mean = expected_profit(most, value * click, *location, *scale);
                }
            }
            Kind::Changing { .. } => {}
        }
        self.round += 1;
    }

    /// The reward of an action in the present round. Takes from stock and budget.
    pub fn reward(&mut self, action: usize) -> f64 {
        match self.kind.at(self.round.saturating_sub(1)) {
            Kind::Bernoulli { .. } | Kind::Logistic { .. } => f64::from(u8::from(self.unit < self.means[action])),
            Kind::Gaussian { noise, .. } | Kind::Linear { noise, .. } => self.means[action] + noise * self.normal,
            Kind::Pricing { prices, value, spread, stock, .. } => {
                let price = prices[action];
                if self.stock == 0 || self.unit >= sigmoid((value - price) / spread) {
                    return 0.0;
                }
                self.stock -= u64::from(stock.is_some());
                price
            }
            Kind::Auction { bids, value, click, location, scale, .. } => {
                let other = exp(location + scale * self.normal);
                if other >= bids[action] || other > self.budget {
                    return 0.0;
                }
                self.budget -= other;
                let clicked = self.unit < *click;
                if clicked {
                    value - other
                } else {
                    -other
                }
            }
            Kind::Changing { .. } => 0.0,
        }
    }

    /// How much less than the best action this one is expected to be paid in the present round.
    pub fn regret(&self, action: usize) -> f64 {
        let mut best = f64::NEG_INFINITY;
        for &mean in &self.means {
            best = if mean > best { mean } else { best };
        }
        best - self.means[action]
    }
}

/// E (worth − other) over other bids below `bid`, for a log-normal other bid.
fn expected_profit(bid: f64, worth: f64, location: f64, scale: f64) -> f64 {
    if bid <= 0.0 {
        return 0.0;
    }
    let z = (crate::numeric::elementary::ln(bid.min(1e300)) - location) / scale;
    worth * normal_below(z) - exp(location + 0.5 * scale * scale) * normal_below(z - scale)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp((-x).min(700.0)))
}

fn product(weights: &[Vec<f64>], features: &[f64], out: &mut [f64]) {
    for (out, weights) in out.iter_mut().zip(weights) {
        *out = weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(description: &str) -> World {
        World::described(description).expect("a good description")
    }

    #[test]
    fn rewards_have_the_means() {
        for description in [
            r#"{"kind": "bernoulli", "means": [0.2, 0.7]}"#,
            r#"{"kind": "gaussian", "means": [-1.0, 2.0], "noise": 0.5}"#,
            r#"{"kind": "linear", "weights": [[1.0, 0.0], [0.0, 1.0]], "noise": 0.1}"#,
            r#"{"kind": "logistic", "weights": [[1.0, 0.0], [0.0, 2.0]]}"#,
            r#"{"kind": "pricing", "prices": [5, 8], "value": 7, "spread": 1.5, "stock": null, "season": 10}"#,
            r#"{"kind": "auction", "bids": [1, 2], "value": 20, "click": 0.1, "location": 0.2, "scale": 0.5,
                "budget": null, "season": 10}"#,
        ] {
            for action in 0..2 {
                let mut world = world(description);
                world.reset(3);
                let (mut error, mut square) = (0.0, 0.0);
                for _ in 0..20_000 {
                    world.begin();
                    let difference = world.reward(action) - world.means()[action];
                    error += difference;
                    square += difference * difference;
                }
                assert!(error.abs() < 4.0 * square.sqrt() + 1e-9, "{description} {action} {error} {square}");
            }
        }
    }

    #[test]
    fn stock_and_budget_end_and_return() {
        let mut shop =
            world(r#"{"kind": "pricing", "prices": [1], "value": 100, "spread": 1, "stock": 3, "season": 10}"#);
        let sold: Vec<f64> = (0..20)
            .map(|_| {
                shop.begin();
                shop.reward(0)
            })
            .collect();
        assert_eq!(sold, [[1.0; 3].to_vec(), vec![0.0; 7], [1.0; 3].to_vec(), vec![0.0; 7]].concat());
        assert_eq!(shop.means(), [0.0]);
        let mut auction = world(
            r#"{"kind": "auction", "bids": [9], "value": 5, "click": 1, "location": 0, "scale": 1e-9,
                "budget": 2.5, "season": 4}"#,
        );
        let won: Vec<f64> = (0..5)
            .map(|_| {
                auction.begin();
                auction.reward(0).round()
            })
            .collect();
        assert_eq!(won, [4.0, 4.0, 0.0, 0.0, 4.0]);
    }

    #[test]
    fn worlds_follow_each_other() {
        let mut changing = world(
            r#"{"kind": "changing", "every": 2, "worlds": [
                {"kind": "bernoulli", "means": [0.0, 1.0]}, {"kind": "bernoulli", "means": [1.0, 0.0]}]}"#,
        );
        let best: Vec<f64> = (0..6)
            .map(|_| {
                changing.begin();
                assert_eq!(changing.reward(0), changing.means()[0]);
                changing.regret(0)
            })
            .collect();
        assert_eq!(best, [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
        assert!(World::described(r#"{"kind": "bernoulli", "means": []}"#).is_err());
        assert!(World::described(r#"{"kind": "changing", "every": 2, "worlds": []}"#).is_err());
    }
}
