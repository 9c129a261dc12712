//! What all detectors share: a test is a rule for one number, and here it becomes a part with a saved state.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultKind, Result};
use crate::registry::Built;
use crate::role::{DriftDetector, Part};
use crate::state::{pack, require, unpack};

/// Which way the mean went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    #[default]
    Unknown,
    Up,
    Down,
}

/// What the last number brought to light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub drift: bool,
    /// A change is likely and not yet sure. Never together with `drift`.
    pub warning: bool,
    pub direction: Direction,
    /// How many of the last numbers are believed to be from after the change; 0 where there is none.
    pub since: u64,
}

impl Verdict {
    pub fn drift(direction: Direction, since: u64) -> Self {
        Verdict { drift: true, warning: false, direction, since }
    }

    pub fn warning(direction: Direction, since: u64) -> Self {
        Verdict { drift: false, warning: true, direction, since }
    }
}

/// A rule for a number. Whatever it remembers is in its state, the last verdict included.
pub trait Test: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether numbers must be in [0, 1], as errors of a classifier are.
    const SHARES: bool = false;
    type State: Clone + Default + Serialize + DeserializeOwned + Send + Sync;

    /// Take a number, whole or nothing.
    fn take(&self, state: &mut Self::State, x: f64) -> Result<()>;
    fn verdict(state: &Self::State) -> Verdict;
    fn estimation(state: &Self::State) -> f64;
    /// Whether a change ends all that came before the next number.
    fn starts_again(&self) -> bool {
        true
    }
    /// Begin anew.
    fn clear(&self, state: &mut Self::State) {
        *state = Self::State::default();
    }
    /// Whether these parameters could have left this state: the bytes may come from a stranger.
    fn is_sound(&self, state: &Self::State) -> bool;
    /// Bytes that the state holds elsewhere.
    fn memory(_state: &Self::State) -> usize {
        0
    }
}

pub fn build<T: Test>(test: T) -> Built {
    Built::DriftDetector(Box::new(Detector { test, state: T::State::default() }))
}

/// A number that a test cannot add to its sums.
pub fn too_large<T: Test>() -> Fault {
    let words = format!("{}: this number would make the sums overflow; it was not counted", T::NAME);
    Fault::new(FaultKind::Overflow, words)
}

#[derive(Clone)]
struct Detector<T: Test> {
    test: T,
    state: T::State,
}

impl<T: Test> Part for Detector<T> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: T::State = unpack(T::NAME, bytes)?;
        let verdict = T::verdict(&state);
        let sound = !(verdict.drift && verdict.warning) && self.test.is_sound(&state);
        require(T::NAME, sound && T::estimation(&state).is_finite(), "its sums do not fit together")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + T::memory(&self.state)
    }
}

impl<T: Test> DriftDetector for Detector<T> {
    #[inline]
    fn update(&mut self, x: f64) -> Result<()> {
        if T::SHARES && !(0.0..=1.0).contains(&x) {
            return Err(Fault::value(format!(
                "{}: a number must be in [0, 1] (1 an error, 0 none), got {x}",
                T::NAME
            )));
        }
        if !(T::verdict(&self.state).drift && self.test.starts_again()) {
            return self.test.take(&mut self.state, x);
        }
        // After a change it starts again; a number that is refused must not start it.
        let before = self.state.clone();
        self.test.clear(&mut self.state);
        self.test.take(&mut self.state, x).inspect_err(|_| self.state = before)
    }

    fn verdict(&self) -> Verdict {
        T::verdict(&self.state)
    }

    fn reset(&mut self) {
        self.test.clear(&mut self.state);
    }

    fn estimation(&self) -> f64 {
        T::estimation(&self.state)
    }

    fn duplicate(&self) -> Box<dyn DriftDetector> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;
    use serde_json::{json, Value as Json};

    pub fn detector(name: &str, parameters: Json) -> Box<dyn DriftDetector> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::DriftDetector(detector)) = registry::build_resolved(&description) else {
            panic!("no detector")
        };
        detector
    }

    /// The places at which a detector finds a change.
    pub fn found(detector: &mut dyn DriftDetector, numbers: impl IntoIterator<Item = f64>) -> Vec<usize> {
        let mut places = Vec::new();
        for (place, x) in numbers.into_iter().enumerate() {
            detector.update(x).expect("a good number");
            if detector.verdict().drift {
                places.push(place);
            }
        }
        places
    }
}
