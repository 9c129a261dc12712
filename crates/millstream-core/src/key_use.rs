//! How the components of a model use the values of a nominal feature, by name.
//!
//! A schema interns nominal values: it keeps the text of each. For a feature of keys, such as a user, it would grow with
//! every user of the stream. If all components that receive a feature use its values as keys only, a schema interns no
//! more values than they keep; a row then holds the hash of any other value (`Schema::nominal`). Values that some
//! component reads in another way, or that leave the model under their name, are all interned.

use std::sync::Arc;

use crate::schema::Name;

/// The use of one feature by a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeyUse {
    /// The largest number of keys that a component keeps; 0 if none uses the feature as a key.
    keys: u32,
    /// Whether a component reads the values as classes of their own, as a tree does.
    read: bool,
    /// Whether a transformer passes the values on.
    passed: bool,
}

impl KeyUse {
    const READ: KeyUse = KeyUse { keys: 0, read: true, passed: false };
    const PASSED: KeyUse = KeyUse { keys: 0, read: false, passed: true };
    const UNUSED: KeyUse = KeyUse { keys: 0, read: false, passed: false };

    fn beside(self, other: KeyUse) -> KeyUse {
        KeyUse {
            keys: self.keys.max(other.keys),
            read: self.read || other.read,
            passed: self.passed || other.passed,
        }
    }

    fn then(self, next: KeyUse) -> KeyUse {
        match self.passed {
            true => KeyUse { passed: next.passed, ..KeyUse { passed: false, ..self }.beside(next) },
            false => self,
        }
    }
}

/// The uses of all features by a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUses {
    named: Arc<[(Name, KeyUse)]>,
    others: KeyUse,
}

impl Default for KeyUses {
    fn default() -> Self {
        Self::read()
    }
}

impl KeyUses {
    /// All nominal features are read: the safe assumption about any component.
    pub fn read() -> Self {
        KeyUses { named: [].into(), others: KeyUse::READ }
    }

    /// No feature is used.
    pub fn unused() -> Self {
        KeyUses { named: [].into(), others: KeyUse::UNUSED }
    }

    /// All nominal features leave a transformer as they are.
    pub fn passed() -> Self {
        KeyUses { named: [].into(), others: KeyUse::PASSED }
    }

    /// A transformer passes on the features with these names, or all but those.
    pub fn selected(names: &[Name], keeps: bool) -> Self {
        let (named, others) =
            if keeps { (KeyUse::PASSED, KeyUse::UNUSED) } else { (KeyUse::UNUSED, KeyUse::PASSED) };
        KeyUses { named: names.iter().map(|name| (name.clone(), named)).collect(), others }
    }

    /// An encoder replaces features by numbers: those with these names, or all nominal ones; others are passed on.
    pub fn encoded(names: Option<&[Name]>, max_keys: usize) -> Self {
        let key = KeyUse { keys: max_keys.min(u32::MAX as usize - 1) as u32, ..KeyUse::UNUSED };
        match names {
            None => KeyUses { named: [].into(), others: key },
            Some(names) => {
                KeyUses { named: names.iter().map(|name| (name.clone(), key)).collect(), others: KeyUse::PASSED }
            }
        }
    }

    /// A transformer uses the features with these names as keys, and writes none of its input.
    pub fn grouped(names: &[Name], max_keys: usize) -> Self {
        KeyUses { others: KeyUse::UNUSED, ..Self::encoded(Some(names), max_keys) }
    }

    fn of(&self, name: &Name) -> KeyUse {
        self.named.iter().find(|(named, _)| named == name).map_or(self.others, |(_, used)| *used)
    }

    fn combined(&self, other: &KeyUses, both: impl Fn(KeyUse, KeyUse) -> KeyUse) -> KeyUses {
        let mut named: Vec<(Name, KeyUse)> = Vec::new();
        for (name, _) in self.named.iter().chain(&*other.named) {
            if named.iter().all(|(known, _)| known != name) {
                named.push((name.clone(), both(self.of(name), other.of(name))));
            }
        }
        KeyUses { named: named.into(), others: both(self.others, other.others) }
    }

    /// Of two components that receive the same rows.
    pub fn beside(&self, other: &KeyUses) -> KeyUses {
        self.combined(other, KeyUse::beside)
    }

    /// Of a transformer and of the component behind it.
    pub fn then(&self, next: &KeyUses) -> KeyUses {
        self.combined(next, KeyUse::then)
    }

    /// The largest number of values of a feature that a schema interns; none if there is no limit.
    pub fn limit(&self, name: &Name) -> Option<u32> {
        let KeyUse { keys, read, passed } = self.of(name);
        (!read && !passed).then_some(keys)
    }

    /// Whether no feature has a limit.
    pub fn is_unlimited(&self) -> bool {
        let unlimited = |used: &KeyUse| used.read || used.passed;
        unlimited(&self.others) && self.named.iter().all(|(_, used)| unlimited(used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_limited_only_if_all_use_it_as_a_key() {
        let user = Name::from("user");
        let encoder = KeyUses::encoded(None, 10);
        let (scaler, tree) = (KeyUses::passed(), KeyUses::read());
        assert_eq!(encoder.limit(&user), Some(10));
        // What follows the encoder receives numbers; what follows a scaler receives the values.
        assert_eq!(encoder.then(&tree).limit(&user), Some(10));
        assert_eq!(scaler.then(&encoder).then(&tree).limit(&user), Some(10));
        assert_eq!(scaler.then(&tree).limit(&user), None);
        // Side by side, the larger number of keys counts, and any other use.
        assert_eq!(encoder.beside(&KeyUses::encoded(None, 20)).limit(&user), Some(20));
        assert_eq!(encoder.beside(&tree).limit(&user), None);
        assert_eq!(encoder.beside(&scaler).then(&tree).limit(&user), None);
        // A selection in front of each branch.
        let keys = KeyUses::selected(std::slice::from_ref(&user), true).then(&encoder);
        let rest = KeyUses::selected(std::slice::from_ref(&user), false).then(&tree);
        let both = keys.beside(&rest);
        assert_eq!((both.limit(&user), both.limit(&"colour".into())), (Some(10), None));
        let named = KeyUses::encoded(Some(std::slice::from_ref(&user)), 5).then(&tree);
        assert_eq!((named.limit(&user), named.limit(&"colour".into())), (Some(5), None));
        assert_eq!(KeyUses::grouped(&[user], 5).limit(&"colour".into()), Some(0));
        assert!(tree.is_unlimited() && scaler.is_unlimited() && !named.is_unlimited());
    }
}
