//! The names of hashed columns, as far as they are seen, in bounded memory.
//!
//! A column has the names of all features that were hashed to it: two are a collision. A name counts its bytes and those of
//! its entry; beyond the limit, columns stay without a name and are counted.

use rustc_hash::FxHashMap;

/// Bytes of an entry beside its name.
const ENTRY: usize = 64;

#[derive(Clone, Debug)]
struct Named {
    /// Of the name, so that it need not be written again to be compared.
    hash: u64,
    text: Box<str>,
}

#[derive(Clone, Debug)]
pub struct FeatureNames {
    limit: usize,
    bytes: usize,
    columns: FxHashMap<u32, Named>,
    /// Further names of a column.
    others: FxHashMap<u32, Vec<Named>>,
    /// Names that were not stored, as often as they occurred.
    unnamed: u64,
}

impl FeatureNames {
    pub fn new(limit: usize) -> Self {
        FeatureNames { limit, bytes: 0, columns: FxHashMap::default(), others: FxHashMap::default(), unnamed: 0 }
    }

    /// Add a name with its hash; `text` is called if it is new.
    pub fn add(&mut self, column: u32, hash: u64, text: impl FnOnce() -> String) {
        let first = self.columns.get(&column);
        let is_known = |named: &Named| named.hash == hash;
        let others = || self.others.get(&column).is_some_and(|others| others.iter().any(is_known));
        if first.is_some_and(is_known) || (first.is_some() && others()) {
            return;
        }
        let text = text().into_boxed_str();
        let bytes = self.bytes + text.len() + ENTRY;
        if bytes > self.limit {
            self.unnamed += 1;
            return;
        }
        self.bytes = bytes;
        let named = Named { hash, text };
        match first.is_some() {
            true => self.others.entry(column).or_default().push(named),
            false => drop(self.columns.insert(column, named)),
        }
    }

    /// The names of a column, in the order in which they were seen.
    pub fn of(&self, column: u32) -> impl Iterator<Item = &str> {
        let others = self.others.get(&column).into_iter().flatten();
        self.columns.get(&column).into_iter().chain(others).map(|named| &*named.text)
    }

    /// Columns with a name.
    pub fn columns(&self) -> impl Iterator<Item = u32> + '_ {
        self.columns.keys().copied()
    }

    /// Columns with two or more names.
    pub fn collisions(&self) -> impl Iterator<Item = u32> + '_ {
        self.others.keys().copied()
    }

    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_collisions_are_kept() {
        let mut names = FeatureNames::new(3 * (ENTRY + 1));
        for (column, hash, text) in [(5, 1, "a"), (5, 1, "a"), (5, 2, "b"), (5, 2, "b"), (6, 1, "c"), (7, 9, "d")]
        {
            names.add(column, hash, || text.to_string());
        }
        assert_eq!(names.of(5).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((names.of(6).count(), names.of(7).count(), names.unnamed(), names.len()), (1, 0, 1, 2));
        assert_eq!(names.collisions().collect::<Vec<_>>(), [5]);
        assert_eq!(names.bytes(), 3 * (ENTRY + 1));
    }
}
