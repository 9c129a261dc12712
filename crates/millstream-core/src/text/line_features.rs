//! What to make of the features of a line beside reading them: namespaces to leave out, n-grams, and products.
//!
//! Namespaces are selected by their first byte, a space for one without a name, and those with the same first byte are one
//! group, as in Vowpal Wabbit. N-grams are made of consecutive features of a group, those with skips leave out up to so
//! many of them. The column of an n-gram is h ← 27942141 h + c for each further column c, and its value is 1.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex};

use rustc_hash::FxBuildHasher;

use crate::fault::{Fault, Result};
use crate::interactions::{CrossedRow, Group, Interactions, Selection, Walker};

use super::block::Block;
use super::feature_names::FeatureNames;

/// The multiplier of columns in an n-gram.
const N_GRAM: u32 = 27_942_141;

/// The name of a namespace without one.
pub const NAMELESS: u8 = b' ';

/// The most forms of n-grams: with many skips, their number grows with the power of the length.
const MOST_FORMS: usize = 10_000;

/// The settings, which readers share.
#[derive(Clone, Debug)]
pub struct LineFeatures {
    pub interactions: Arc<Interactions>,
    pub ignored: Selection,
    /// Of each group: the offsets of the features of an n-gram behind its first one.
    forms: Vec<Vec<Vec<usize>>>,
    /// The most products and n-grams of a line.
    most: u64,
    /// Where names are kept, if they are wanted.
    pub names: Option<Arc<Mutex<FeatureNames>>>,
}

impl LineFeatures {
    /// `ngrams` and `skips` are those of each group.
    pub fn new(
        interactions: Interactions,
        ignored: Selection,
        ngrams: &[usize; 256],
        skips: &[usize; 256],
        most: u64,
    ) -> Result<Self> {
        let mut forms = Vec::with_capacity(256);
        for (&length, &skip) in ngrams.iter().zip(skips) {
            let mut found = Vec::new();
            for size in 1..length {
                if !each_form(size, skip, &mut vec![0], &mut found) {
                    return Err(Fault::value(format!(
                        "ngram={length} with skips={skip} makes more than {MOST_FORMS} n-grams of each word"
                    )));
                }
            }
            forms.push(found);
        }
        Ok(LineFeatures { interactions: Arc::new(interactions), ignored, forms, most, names: None })
    }

    pub fn has_products(&self) -> bool {
        !self.interactions.products().is_empty()
    }
}

/// The forms with `size` further features and up to `skips` left out; false if there are too many.
fn each_form(size: usize, skips: usize, begun: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) -> bool {
    if size == 0 {
        found.push(begun[1..].to_vec());
        return found.len() <= MOST_FORMS;
    }
    let last = begun.last().copied().unwrap_or(0);
    for skipped in 0..=skips {
        begun.push(last + 1 + skipped);
        let fits = each_form(size - 1, skips - skipped, begun, found);
        begun.pop();
        if !fits {
            return false;
        }
    }
    true
}

/// The namespaces of a line, in its order, and buffers to bring them into that of their names.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    spans: Vec<(u8, usize, usize)>,
    groups: Vec<Group>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Of each entry of the line, in its order, then by group: the name of its feature, if names are wanted.
    named: Vec<String>,
    ordered: Vec<String>,
    walker: Walker,
    /// The first name that was seen of each group.
    seen: Vec<(u8, Vec<u8>)>,
}

impl Namespaces {
    pub fn clear(&mut self) {
        self.spans.clear();
        self.named.clear();
    }

    /// Name an entry of the namespace: `namespace^feature`.
    pub fn name(&mut self, namespace: &[u8], feature: &[u8]) {
        let feature = String::from_utf8_lossy(feature).replacen(':', "=", 1);
        self.named.push(match namespace {
            b"" => feature,
            _ => format!("{}^{feature}", String::from_utf8_lossy(namespace)),
        });
    }

    /// A namespace with the entries `from` to `to` of the open row.
    #[inline]
    pub fn add(&mut self, name: &[u8], from: usize, to: usize) {
        let group = name.first().copied().unwrap_or(NAMELESS);
        if from == to {
            return;
        }
        if !self.seen.iter().any(|(seen, _)| *seen == group) {
            self.seen.push((group, name.to_vec()));
        }
        self.spans.push((group, from, to));
    }

    pub fn seen(&self) -> &[(u8, Vec<u8>)] {
        &self.seen
    }

    /// Bring the entries of the open row into groups, with their n-grams; the number of n-grams and products if there are
    /// too many.
    pub fn arrange(&mut self, features: &LineFeatures, out: &mut Block) -> std::result::Result<&[Group], u64> {
        self.groups.clear();
        self.ordered.clear();
        let ascend = self.spans.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let forms = |group: u8| &features.forms[group as usize];
        if ascend && self.spans.iter().all(|span| forms(span.0).is_empty()) {
            self.groups.extend(self.spans.iter().map(|&(name, _, to)| Group { name, end: to as u32 }));
            std::mem::swap(&mut self.ordered, &mut self.named);
        } else {
            self.spans.sort_by_key(|span| span.0);
            self.columns.clear();
            self.values.clear();
            let mut grams = 0;
            for spans in self.spans.chunk_by(|one, other| one.0 == other.0) {
                let (name, start) = (spans[0].0, self.columns.len());
                let (columns, values) = out.open_row();
                for &(_, from, to) in spans {
                    self.columns.extend_from_slice(&columns[from..to]);
                    self.values.extend_from_slice(&values[from..to]);
                    self.ordered.extend(self.named.iter().skip(from).take(to - from).cloned());
                }
                let length = self.columns.len() - start;
                let count = |form: &Vec<usize>| length.saturating_sub(form.last().copied().unwrap_or(0)) as u64;
                grams += forms(name).iter().map(count).sum::<u64>();
                if grams > features.most {
                    return Err(grams);
                }
                for form in forms(name) {
                    for first in start..start + count(form) as usize {
                        let gram = form.iter().fold(self.columns[first], |hash, offset| {
                            hash.wrapping_mul(N_GRAM).wrapping_add(self.columns[first + offset])
                        });
                        self.columns.push(gram & features.interactions.mask);
                        self.values.push(1.0);
                        if features.names.is_some() {
                            let offsets = [0].into_iter().chain(form.iter().copied());
                            let words = offsets.map(|offset| self.ordered[first + offset].as_str());
                            self.ordered.push(words.collect::<Vec<_>>().join(" "));
                        }
                    }
                }
                self.groups.push(Group { name, end: self.columns.len() as u32 });
            }
            out.replace(&self.columns, &self.values);
        }
        match self.walker.count(&features.interactions, &self.groups) {
            count if count > features.most => Err(count),
            _ => {
                if let Some(names) = &features.names {
                    self.keep_names(names, &features.interactions, out);
                }
                Ok(&self.groups)
            }
        }
    }

    /// Add the names of the features and products of the open row.
    fn keep_names(&mut self, names: &Mutex<FeatureNames>, interactions: &Interactions, out: &Block) {
        let Ok(mut names) = names.lock() else { return };
        let hash = FxBuildHasher;
        let hashes: Vec<u64> = self.ordered.iter().map(|name| hash.hash_one(name)).collect();
        let (indices, values) = out.open_row();
        let mut place = 0;
        for group in &self.groups {
            while place < group.end as usize {
                if !interactions.not_alone.has(group.name) {
                    names.add(indices[place] & interactions.mask, hashes[place], || self.ordered[place].clone());
                }
                place += 1;
            }
        }
        let (groups, width) = (&self.groups[..], interactions.mask as usize + 1);
        let row = CrossedRow { indices, values, groups, interactions, width };
        let ordered = &self.ordered;
        self.walker.each_product(&row, &mut |column, places| {
            let code = places.iter().fold(0u64, |code, &place| code.rotate_left(5) ^ hashes[place]);
            names.add(column, code, || {
                places.iter().map(|&place| ordered[place].as_str()).collect::<Vec<_>>().join(" × ")
            });
        });
        if let Some(constant) = interactions.constant {
            names.add(constant & interactions.mask, 0, || "constant".to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_n_grams() {
        let forms = |size, skips| {
            let mut found = Vec::new();
            assert!(each_form(size, skips, &mut vec![0], &mut found));
            found
        };
        assert_eq!(forms(1, 0), [[1]]);
        assert_eq!(forms(1, 2), [[1], [2], [3]]);
        assert_eq!(forms(2, 1), [[1, 2], [1, 3], [2, 3]]);
        assert!(!each_form(20, 20, &mut vec![0], &mut Vec::new()));
    }
}
