//! The class weights in a bin of a histogram. Most bins hold one or two classes, which need no further allocation.

use serde::{Deserialize, Serialize};

use crate::row::finite;

use super::histogram::Content;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    class: u32,
    weight: f64,
    /// Further classes, in order of appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<(u32, f64)>,
}

impl Counts {
    pub fn one(class: u32, weight: f64) -> Self {
        Counts { class, weight, others: Vec::new() }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        std::iter::once((self.class, self.weight)).chain(self.others.iter().copied())
    }

    fn put(&mut self, class: u32, weight: f64) {
        if class == self.class {
            self.weight = finite(self.weight + weight);
        } else if let Some((_, known)) = self.others.iter_mut().find(|(other, _)| *other == class) {
            *known = finite(*known + weight);
        } else {
            self.others.reserve_exact(1);
            self.others.push((class, weight));
        }
    }

    pub fn memory(&self) -> usize {
        self.others.len() * std::mem::size_of::<(u32, f64)>()
    }

    pub fn is_sound(&self, classes: usize) -> bool {
        self.iter().all(|(class, weight)| (class as usize) < classes && weight >= 0.0 && weight.is_finite())
    }
}

impl Content for Counts {
    fn add(&mut self, other: &Self) {
        other.iter().for_each(|(class, weight)| self.put(class, weight));
    }
}
