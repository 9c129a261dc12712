//! Policies that choose actions, without a context in the files here, and with one in `contextual`.
//!
//! | question | file |
//! |---|---|
//! | what must a policy do? | `crate::policy` |
//! | the verbs of a held policy: decide, learn, late rewards | `decider` |
//! | actions and their codes | `actions` |
//! | decisions that wait for their rewards | `open_decisions` |
//! | number and mean of the rewards of each action | `means`; what is believed of an action: `posterior` |
//! | policies with a context | `contextual` |
//! | worlds with known truth, and games of policies in them | `worlds`, `play` |

pub mod actions;
pub mod bayes_ucb;
mod best_of;
pub mod contextual;
pub mod decider;
pub mod discounted_ucb;
pub mod epsilon_greedy;
pub mod exp3;
pub mod exp3_ix;
mod gains;
pub mod gradient_bandit;
pub mod kl_ucb;
mod means;
pub mod open_decisions;
pub mod play;
mod posterior;
pub mod restart;
pub mod sliding_window_ucb;
pub mod thompson;
pub mod tsallis_inf;
pub mod ucb1;
pub mod worlds;

use crate::merging::Merge;
use crate::numeric::magnitude::LARGEST;
use crate::parameter::{Arguments, Default, Kind, Parameter};

const ACTIONS: Parameter = Parameter::new(
    "actions",
    Kind::Optional(&Kind::Labels),
    Default::Null,
    "actions to choose from; others can be given in each call, and None leaves it to the calls",
);

const MAX_ACTIONS: Parameter = Parameter::new(
    "max_actions",
    Kind::Integer { low: 1, high: 10_000_000 },
    Default::Integer(10_000),
    "largest number of actions kept; to admit one more, the one offered least recently is forgotten",
);

const MAX_PENDING: Parameter = Parameter::new(
    "max_pending",
    Kind::Integer { low: 1, high: 1_000_000_000 },
    Default::Integer(100_000),
    "number of decisions kept for their rewards; older ones without a reward are dropped and counted",
);

const SEED: Parameter =
    Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, Default::Integer(0), "seed of the draws");

/// Of policies that know a number and a mean of each action.
const MERGED_MEANS: Merge =
    Merge::exact("numbers and means of rewards add up; decisions that wait stay with the policy that made them");

const RANGE: Parameter = Parameter::new(
    "reward_range",
    Kind::Range(LARGEST),
    Default::Integers(&[0, 1]),
    "smallest and largest possible reward; others are refused",
);

impl Arguments<'_> {
    /// The smallest and the largest reward.
    fn reward_range(&self) -> crate::fault::Result<(f64, f64)> {
        match self.floats("reward_range")?[..] {
            [low, high] => Ok((low, high)),
            _ => Err(self.absent("reward_range")),
        }
    }
}

/// Implement `Part` for a policy whose state is a field `state` with `is_valid` and `memory`.
macro_rules! state_of {
    ($policy:ident) => {
        $crate::bandit::state_of!($policy, json | _policy | serde_json::json!({}));
    };
    ($policy:ident, json |$this:ident| $shown:expr) => {
        $crate::bandit::state_of!($policy, $this, $shown,);
    };
    // For a state with `merge`.
    ($policy:ident, merged) => {
        $crate::bandit::state_of!($policy, merged, json | _policy | serde_json::json!({}));
    };
    ($policy:ident, merged, json |$this:ident| $shown:expr) => {
        $crate::bandit::state_of!(
            $policy,
            $this,
            $shown,
            fn merge_state(&mut self, merger: &$crate::merging::Merger<'_>) -> $crate::fault::Result<()> {
                for (side, sign) in merger.sides() {
                    let state: State = $crate::held::state::unpack(NAME, side.state)?;
                    self.state.merge(&state, side.codes, sign);
                }
                $crate::held::state::require(NAME, self.state.is_valid(), "the sum of both is not in range")
            }
        );
    };
    ($policy:ident, $this:ident, $shown:expr, $($method:item)?) => {
        impl $crate::part::Part for $policy {
            fn save(&self) -> $crate::fault::Result<Vec<u8>> {
                $crate::held::state::pack(&self.state)
            }

            fn load(&mut self, bytes: &[u8]) -> $crate::fault::Result<()> {
                let state: State = $crate::held::state::unpack(NAME, bytes)?;
                $crate::held::state::require(NAME, state.is_valid(), "a number is not finite or not in range")?;
                self.state = state;
                Ok(())
            }

            fn memory(&self) -> usize {
                std::mem::size_of::<Self>() + self.state.memory()
            }

            fn inspect(&self, _schema: &$crate::schema::Schema) -> serde_json::Value {
                let $this = self;
                $shown
            }

            $($method)?
        }
    };
}
use state_of;
