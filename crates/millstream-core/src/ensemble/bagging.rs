//! Online bagging: each member learns each row k times, where k is from the Poisson distribution of mean 1.
//!
//! Oza, N. C. and Russell, S. (2001), "Online bagging and boosting", Artificial Intelligence and Statistics, figure 1.
//! The paper learns a row k times; here it is learned once with k times its weight. For learners of sums both are equal,
//! and a member costs no more than it does alone.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::task::{Classes, Numbers};

use super::aggregation::{Aggregation, AGGREGATION};
use super::bagged::{members, Resampling};
use super::combined::Ensemble;
use super::poisson::{Poisson, LARGEST_MEAN};
use super::threads::{self, N_THREADS};
use super::vote_shares::VoteShares;

pub const N_MODELS: Parameter = Parameter::new(
    "n_models",
    Kind::Integer { low: 1, high: 10_000 },
    DefaultValue::Integer(10),
    "number of models in the ensemble",
);

pub const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: 0, high: i64::MAX },
    DefaultValue::Integer(1),
    "seed of the random numbers; each model has its own generator",
);

pub const fn poisson_rate(default: f64) -> Parameter {
    Parameter::new(
        "poisson_rate",
        Kind::Float(Bounds::new(0.0, false, LARGEST_MEAN, true)),
        DefaultValue::Float(default),
        "mean number of times a model learns each row",
    )
}

pub const CLASSIFIER: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::Classifier]),
    DefaultValue::Part("tree.HoeffdingTreeClassifier"),
    "classifier to copy for each member",
);

pub const REGRESSOR: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::Regressor]),
    DefaultValue::Part("tree.HoeffdingTreeRegressor"),
    "regressor to copy for each member",
);

pub static BAGGING: Declaration = Declaration {
    name: "ensemble.Bagging",
    role: Role::Classifier,
    words: "Online bagging: classifiers that learn each row a random number of times, and vote",
    merge: Merge::ENSEMBLE,
    parameters: &[CLASSIFIER, N_MODELS, poisson_rate(1.0), SEED, N_THREADS],
    build: |arguments| {
        let model = arguments.learner::<Classes>("model")?;
        let most = model.abilities().max_classes;
        let (members, rule) = members(BAGGING.name, arguments, model, resampling(arguments)?, None, most)?;
        let threads = threads::count(arguments)?;
        Ok(Built::Classifier(Box::new(Ensemble::new(members, rule, VoteShares::default(), threads))))
    },
};

pub static BAGGING_REGRESSOR: Declaration = Declaration {
    name: "ensemble.BaggingRegressor",
    role: Role::Regressor,
    words: "Online bagging: the average of regressors that learn each row a random number of times",
    merge: Merge::ENSEMBLE,
    parameters: &[REGRESSOR, N_MODELS, poisson_rate(1.0), AGGREGATION, SEED, N_THREADS],
    build: |arguments| {
        let model = arguments.learner::<Numbers>("model")?;
        let (members, rule) =
            members(BAGGING_REGRESSOR.name, arguments, model, resampling(arguments)?, None, usize::MAX)?;
        let aggregation = Aggregation::named(arguments.text("aggregation")?);
        let threads = threads::count(arguments)?;
        Ok(Built::Regressor(Box::new(Ensemble::new(members, rule, aggregation, threads))))
    },
};

fn resampling(arguments: &Arguments<'_>) -> Result<Resampling> {
    Ok(Resampling::Poisson(Poisson::new(arguments.float("poisson_rate")?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::task::ClassPrediction;
    use serde_json::json;

    #[test]
    fn one_step_by_hand() {
        let parameters = json!({ "model": "baseline.Prior", "n_models": 2, "seed": 5 });
        let description = registry::resolve(&json!({ "name": BAGGING.name, "parameters": parameters })).unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        let classes = [0, 1, 1, 0, 1];
        for y in classes {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        // A member that learned class 1 with weights of sum b, and class 0 with those of sum a, predicts b / (a + b); the
        // two are averaged. The weights are the counts at the uniform numbers of each member's own generator.
        let poisson = Poisson::new(1.0);
        let share = |index: u64| {
            let mut random = Random::new(5, super::super::bagged::PURPOSE + index);
            let mut sums = [0.0; 2];
            classes.iter().for_each(|&y| sums[y as usize] += poisson.at(random.unit()));
            sums[1] / (sums[0] + sums[1])
        };
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        let wanted = (share(0) + share(1)) / 2.0;
        assert!(share(0) != share(1) && (out.probabilities[1] - wanted).abs() < 1e-15, "{out:?} {wanted}");
    }
}
