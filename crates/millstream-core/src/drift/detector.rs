//! What all detectors share: a test is a rule for one number, and here it becomes a part with a saved state.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::declaration::Built;
use crate::detector::DriftDetector;
use crate::fault::{Fault, FaultKind, Result};
use crate::held::state::{pack, require, unpack};
use crate::part::Part;
use crate::schema::Schema;

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

    /// Of errors: whether they grew. To have become better is no reason to begin anew.
    pub fn is_worse(self) -> bool {
        self.drift && self.direction != Direction::Down
    }

    /// The same of a change that is likely.
    pub fn may_be_worse(self) -> bool {
        self.warning && self.direction != Direction::Down
    }
}

/// How many numbers were taken, or which one was refused.
pub type Many = std::result::Result<usize, (usize, Fault)>;

/// A rule for a number. Whatever it remembers is in its state, the last verdict included.
pub trait Test: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether numbers must be in [0, 1], as errors of a classifier are.
    const SHARES: bool = false;
    type State: Clone + Default + Serialize + DeserializeOwned + Send + Sync;

    /// Take a number, whole or nothing.
    fn take(&self, state: &mut Self::State, x: f64) -> Result<()>;
    /// Take numbers, at most up to the first that is a change; gives how many they were. After a fault, where it
    /// stopped is all that is known.
    fn take_many(&self, state: &mut Self::State, numbers: &[f64]) -> Many {
        for (place, &x) in numbers.iter().enumerate() {
            if let Err(fault) = self.take(state, x) {
                return Err((place, fault));
            }
            if Self::verdict(state).drift {
                return Ok(place + 1);
            }
        }
        Ok(numbers.len())
    }
    fn verdict(state: &Self::State) -> Verdict;
    fn estimation(state: &Self::State) -> f64;
    /// Whether a change ends all that came before the next number.
    fn starts_again(&self) -> bool {
        true
    }
    /// Begin anew after a change, which may leave what is from after it.
    fn clear(&self, state: &mut Self::State) {
        *state = Self::State::default();
    }
    /// Whether these parameters could have left this state: the bytes may come from a stranger.
    fn is_sound(&self, state: &Self::State) -> bool;
    /// Give no warnings any more, if that saves work.
    fn forgo_warnings(&mut self) {}
    /// What is known beside the estimate, for people.
    fn inspect(_state: &Self::State) -> Json {
        Json::Null
    }
    /// Bytes that the state holds elsewhere.
    fn memory(_state: &Self::State) -> usize {
        0
    }
}

pub fn build<T: Test>(test: T) -> Built {
    Built::DriftDetector(Box::new(Detector { test, state: T::State::default() }))
}

/// The place of the first number of which something does not hold, or their number.
#[inline]
pub fn first_not(numbers: &[f64], holds: impl Fn(f64) -> bool) -> usize {
    // To the end of a stretch in any case: a loop that may stop does not run in vector registers.
    let good = |stretch: &&[f64]| stretch.iter().fold(true, |good, &x| good & holds(x));
    let before = STRETCH * numbers.chunks(STRETCH).take_while(good).count();
    let rest = numbers.get(before..).unwrap_or_default();
    numbers.len().min(before) + rest.iter().position(|&x| !holds(x)).unwrap_or(rest.len())
}

const STRETCH: usize = 64;

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

    fn inspect(&self, _schema: &Schema) -> Json {
        T::inspect(&self.state)
    }
}

impl<T: Test> Detector<T> {
    #[inline]
    fn takes(x: f64) -> bool {
        if T::SHARES {
            (0.0..=1.0).contains(&x)
        } else {
            x.is_finite()
        }
    }

    #[cold]
    fn refusal(x: f64) -> Fault {
        let must = match x.is_finite() {
            true => "in [0, 1] (1 an error, 0 none)",
            false => "finite",
        };
        Fault::value(format!("{}: a number must be {must}, got {x}", T::NAME))
    }
}

impl<T: Test> DriftDetector for Detector<T> {
    #[inline]
    fn update(&mut self, x: f64) -> Result<()> {
        if !Self::takes(x) {
            return Err(Self::refusal(x));
        }
        if !(T::verdict(&self.state).drift && self.test.starts_again()) {
            return self.test.take(&mut self.state, x);
        }
        // After a change it starts again; a number that is refused must not start it.
        let before = self.state.clone();
        self.test.clear(&mut self.state);
        self.test.take(&mut self.state, x).inspect_err(|_| self.state = before)
    }

    fn update_many(&mut self, numbers: &[f64], found: &mut Vec<usize>) -> Many {
        let good = first_not(numbers, Self::takes);
        let mut done = 0;
        while done < good {
            if T::verdict(&self.state).drift && self.test.starts_again() {
                self.test.clear(&mut self.state);
            }
            done += self
                .test
                .take_many(&mut self.state, &numbers[done..good])
                .map_err(|(place, fault)| (done + place, fault))?;
            if T::verdict(&self.state).drift {
                found.push(done - 1);
            }
        }
        match numbers.get(good) {
            Some(&bad) => Err((good, Self::refusal(bad))),
            None => Ok(done),
        }
    }

    fn verdict(&self) -> Verdict {
        T::verdict(&self.state)
    }

    fn reset(&mut self) {
        // Nothing stays, not even what is from after a change.
        self.state = T::State::default();
    }

    fn estimation(&self) -> f64 {
        T::estimation(&self.state)
    }

    fn forgo_warnings(&mut self) {
        self.test.forgo_warnings();
    }

    fn duplicate(&self) -> Box<dyn DriftDetector> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

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
