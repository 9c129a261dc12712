//! Words of texts, with the number of texts that have each of them.
//!
//! `Tokenizer` splits a text into words: two or more letters, digits, underscores or hyphens, with no hyphen at either
//! end, which is River's pattern `\b\w[\w\-]+\b`. Consecutive words joined by a blank are n-grams. `Vocabulary` counts
//! documents for tf-idf (Salton and Buckley, 1988), with the smoothed idf of scikit-learn and River, ln((1 + n)/(1 +
//! df)) + 1. It has a bound: a new word is ignored when it is full, or replaces the word that was not seen for longest.
//! `undo` reverts the last text.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::numeric::elementary::ln;

const NAME: &str = "feature_extraction.Vocabulary";

#[derive(Clone, Debug)]
pub struct Tokenizer {
    pub lowercase: bool,
    /// The smallest and the largest number of words of a term.
    pub ngrams: (usize, usize),
    pub stop_words: FxHashSet<String>,
}

/// The terms of a text and their numbers, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The text that was read last: a pipeline reads each text several times in a row.
    source: Option<String>,
    /// The text in lower case, or its tokens, one after the other.
    text: String,
    words: Vec<(usize, usize)>,
    /// The n-grams of two or more words.
    joined: String,
    terms: Vec<Term>,
    counts: Vec<u32>,
    hashes: Vec<u64>,
    /// The index of a term at its hash or behind, or `NONE`: a table with at most half of its cells in use.
    table: Vec<u32>,
    total: u64,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Term {
    from: usize,
    to: usize,
    is_joined: bool,
}

impl Terms {
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The sum of the numbers.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn slice(&self, term: Term) -> &str {
        let text = if term.is_joined { &self.joined } else { &self.text };
        text.get(term.from..term.to).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.terms.iter().zip(&self.counts).map(|(&term, &count)| (self.slice(term), count))
    }

    fn clear(&mut self) {
        self.text.clear();
        self.words.clear();
        self.joined.clear();
        self.terms.clear();
        self.counts.clear();
        self.hashes.clear();
        self.total = 0;
    }

    /// Start a table for so many terms.
    fn reserve(&mut self, terms: usize) {
        self.table.clear();
        self.table.resize((2 * terms).next_power_of_two(), NONE);
    }

    fn count(&mut self, term: Term) {
        use std::hash::Hasher;
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(self.slice(term).as_bytes());
        let hash = hasher.finish();
        let mask = self.table.len() - 1;
        let mut cell = hash as usize & mask;
        self.total += 1;
        while self.table[cell] != NONE {
            let index = self.table[cell] as usize;
            if self.hashes[index] == hash && self.slice(self.terms[index]) == self.slice(term) {
                self.counts[index] = self.counts[index].saturating_add(1);
                return;
            }
            cell = (cell + 1) & mask;
        }
        self.table[cell] = self.terms.len() as u32;
        self.terms.push(term);
        self.hashes.push(hash);
        self.counts.push(1);
    }
}

impl Tokenizer {
    /// The terms of a text.
    pub fn read(&self, text: &str, out: &mut Terms) {
        if out.source.as_deref() == Some(text) {
            return;
        }
        out.clear();
        let mut source = out.source.take().unwrap_or_default();
        source.clear();
        source.push_str(text);
        out.source = Some(source);
        match self.lowercase {
            true if text.is_ascii() => {
                out.text.push_str(text);
                out.text.make_ascii_lowercase();
            }
            true => out.text.push_str(&text.to_lowercase()),
            false => out.text.push_str(text),
        }
        let Terms { text, words, .. } = out;
        each_word(text, |from, to| {
            if self.stop_words.is_empty() || !self.stop_words.contains(&text[from..to]) {
                words.push((from, to));
            }
        });
        self.count(out);
    }

    /// The terms of a text that is given as its tokens.
    pub fn read_tokens<'a>(&self, tokens: impl Iterator<Item = &'a str>, out: &mut Terms) {
        out.clear();
        out.source = None;
        for token in tokens {
            if !self.stop_words.contains(token) {
                let from = out.text.len();
                out.text.push_str(token);
                out.words.push((from, out.text.len()));
            }
        }
        self.count(out);
    }

    fn count(&self, out: &mut Terms) {
        let words = std::mem::take(&mut out.words);
        out.reserve(words.len() * (self.ngrams.1 + 1 - self.ngrams.0.min(self.ngrams.1)));
        for size in self.ngrams.0..=self.ngrams.1 {
            for window in words.windows(size.max(1)) {
                if let [(from, to)] = *window {
                    out.count(Term { from, to, is_joined: false });
                    continue;
                }
                let from = out.joined.len();
                for (place, &(start, end)) in window.iter().enumerate() {
                    if place > 0 {
                        out.joined.push(' ');
                    }
                    out.joined.push_str(&out.text[start..end]);
                }
                out.count(Term { from, to: out.joined.len(), is_joined: true });
            }
        }
        out.words = words;
    }
}

/// The starts and ends of words.
fn each_word(text: &str, mut visit: impl FnMut(usize, usize)) {
    // The start of a word, its end without hyphens behind, and its number of characters up to there.
    let mut word: Option<(usize, usize, usize)> = None;
    let mut hyphens = 0;
    for (place, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
            _ => !letter.is_ascii() && letter.is_alphanumeric(),
        };
        match (&mut word, inside, letter) {
            (Some((_, end, count)), true, _) => {
                *count += hyphens + 1;
                *end = place + letter.len_utf8();
                hyphens = 0;
            }
            (None, true, _) => word = Some((place, place + letter.len_utf8(), 1)),
            (Some(_), false, '-') => hyphens += 1,
            (Some((start, end, count)), false, _) => {
                if *count >= 2 {
                    visit(*start, *end);
                }
                (word, hyphens) = (None, 0);
            }
            (None, false, _) => {}
        }
    }
}

#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The largest number of words; none for no words at all, in which case nothing is learned.
    pub most: usize,
    /// Whether a new word replaces the one that was not seen for longest, once there are `most`.
    pub evicts: bool,
    /// Number of texts.
    n: u64,
    entries: Vec<Entry>,
    places: FxHashMap<Arc<str>, u32>,
    /// The last text with each word, and its place: only if it evicts.
    by_age: BTreeSet<(u64, u32)>,
    journal: Vec<Change>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    word: Arc<str>,
    /// Number of texts with the word.
    texts: u64,
    /// The number of the last of them.
    last: u64,
}

#[derive(Clone, Debug)]
enum Change {
    /// The word at the place was seen; its last text before.
    Seen(u32, u64),
    Added,
    /// The word at the place took the place of this one.
    Replaced(u32, Entry),
}

#[derive(Serialize, Deserialize)]
struct Saved {
    n: u64,
    entries: Vec<Entry>,
}

impl Vocabulary {
    pub fn new(most: usize, evicts: bool) -> Self {
        Vocabulary {
            most,
            evicts,
            n: 0,
            entries: Vec::new(),
            places: FxHashMap::default(),
            by_age: BTreeSet::new(),
            journal: Vec::new(),
        }
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Words and the number of texts with each.
    pub fn words(&self) -> impl Iterator<Item = (&str, u64)> {
        self.entries.iter().map(|entry| (&*entry.word, entry.texts))
    }

    pub fn learn(&mut self, terms: &Terms) {
        self.journal.clear();
        self.n = self.n.saturating_add(1);
        for (word, _) in terms.iter() {
            match self.places.get(word) {
                Some(&place) => self.see(place),
                None if self.entries.len() < self.most => self.add(word),
                None if self.evicts => self.replace(word),
                None => {}
            }
        }
    }

    fn see(&mut self, place: u32) {
        let entry = &mut self.entries[place as usize];
        self.journal.push(Change::Seen(place, entry.last));
        if self.evicts {
            self.by_age.remove(&(entry.last, place));
            self.by_age.insert((self.n, place));
        }
        entry.texts = entry.texts.saturating_add(1);
        entry.last = self.n;
    }

    fn add(&mut self, word: &str) {
        let place = self.entries.len() as u32;
        let word: Arc<str> = word.into();
        self.places.insert(word.clone(), place);
        self.entries.push(Entry { word, texts: 1, last: self.n });
        if self.evicts {
            self.by_age.insert((self.n, place));
        }
        self.journal.push(Change::Added);
    }

    fn replace(&mut self, word: &str) {
        // A text with more new words than there is room replaces its own words, the first ones first.
        let Some((_, place)) = self.by_age.pop_first() else { return };
        let word: Arc<str> = word.into();
        let new = Entry { word: word.clone(), texts: 1, last: self.n };
        let old = std::mem::replace(&mut self.entries[place as usize], new);
        self.places.remove(&old.word);
        self.places.insert(word, place);
        self.by_age.insert((self.n, place));
        self.journal.push(Change::Replaced(place, old));
    }

    /// Revert the last text, bit for bit.
    pub fn undo(&mut self) {
        let Some(n) = self.n.checked_sub(1) else { return };
        while let Some(change) = self.journal.pop() {
            match change {
                Change::Seen(place, last) => {
                    let entry = &mut self.entries[place as usize];
                    (entry.texts, entry.last) = (entry.texts - 1, last);
                    if self.evicts {
                        self.by_age.remove(&(self.n, place));
                        self.by_age.insert((last, place));
                    }
                }
                Change::Added => {
                    if let Some(entry) = self.entries.pop() {
                        self.by_age.remove(&(entry.last, self.entries.len() as u32));
                        self.places.remove(&entry.word);
                    }
                }
                Change::Replaced(place, old) => {
                    self.by_age.remove(&(self.n, place));
                    self.by_age.insert((old.last, place));
                    self.places.insert(old.word.clone(), place);
                    let new = std::mem::replace(&mut self.entries[place as usize], old);
                    self.places.remove(&new.word);
                }
            }
        }
        self.n = n;
    }

    /// Whether a word is part of the output: a full vocabulary that does not evict ignores new words.
    pub fn knows(&self, word: &str) -> bool {
        self.evicts || self.entries.len() < self.most || self.places.contains_key(word)
    }

    /// ln((1 + n)/(1 + df)) + 1.
    pub fn idf(&self, word: &str) -> f64 {
        let texts = self.places.get(word).map_or(0, |&place| self.entries[place as usize].texts);
        ln((1 + self.n) as f64 / (1 + texts) as f64) + 1.0
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        pack(&Saved { n: self.n, entries: self.entries.clone() })
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let Saved { n, entries } = unpack(NAME, bytes)?;
        require(NAME, entries.len() <= self.most && n < u64::MAX, "too many words")?;
        let sound = |entry: &Entry| (1..=entry.last).contains(&entry.texts) && entry.last <= n;
        require(NAME, entries.iter().all(sound), "a word of more texts than there were")?;
        let places: FxHashMap<Arc<str>, u32> =
            (0..).zip(&entries).map(|(i, entry)| (entry.word.clone(), i)).collect();
        require(NAME, places.len() == entries.len(), "duplicate word")?;
        self.by_age = match self.evicts {
            true => (0..).zip(&entries).map(|(place, entry)| (entry.last, place)).collect(),
            false => BTreeSet::new(),
        };
        (self.n, self.entries, self.places) = (n, entries, places);
        self.journal.clear();
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let words: usize = self.entries.iter().map(|entry| entry.word.len() + 16).sum();
        let tree = self.by_age.len() * 24;
        words + self.entries.capacity() * 32 + self.places.capacity() * 25 + tree + self.journal.capacity() * 40
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer(ngrams: (usize, usize)) -> Tokenizer {
        Tokenizer { lowercase: true, ngrams, stop_words: FxHashSet::default() }
    }

    fn terms(text: &str, ngrams: (usize, usize)) -> Vec<(String, u32)> {
        let mut out = Terms::default();
        tokenizer(ngrams).read(text, &mut out);
        out.iter().map(|(word, count)| (word.to_string(), count)).collect()
    }

    #[test]
    fn words_as_the_pattern_finds_them() {
        let words = |text: &str| terms(text, (1, 1)).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(
            words("A well-known -fact--, x a- b--c I_1 \u{c9}t\u{e9}"),
            ["well-known", "fact", "b--c", "i_1", "\u{e9}t\u{e9}"]
        );
        assert_eq!(words("- -- a"), Vec::<String>::new());
        let found = terms("to be or not to be", (1, 2));
        let named = |name: &str| found.iter().find(|(term, _)| term == name).map(|(_, count)| *count);
        assert_eq!((named("to"), named("to be"), named("be or"), found.len()), (Some(2), Some(2), Some(1), 8));
    }

    #[test]
    fn idf_by_hand() {
        let mut words = Vocabulary::new(100, false);
        let mut out = Terms::default();
        for text in ["the cat", "the dog"] {
            tokenizer((1, 1)).read(text, &mut out);
            words.learn(&out);
        }
        // n = 2: "the" in both, ln(3/3) + 1 = 1; "cat" in one, ln(3/2) + 1; an unknown word, ln 3 + 1.
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-15;
        assert!(near(words.idf("the"), 1.0) && near(words.idf("cat"), 1.5f64.ln() + 1.0));
        assert!(near(words.idf("bird"), 3f64.ln() + 1.0));
    }

    #[test]
    fn bounds_and_undo() {
        for evicts in [false, true] {
            let mut words = Vocabulary::new(3, evicts);
            let mut out = Terms::default();
            let mut states = Vec::new();
            let texts = ["aa bb", "bb cc dd", "aa ee", "ff gg hh ii bb"];
            for text in texts {
                tokenizer((1, 1)).read(text, &mut out);
                states.push(words.save().unwrap());
                words.learn(&out);
                let after = words.save().unwrap();
                words.undo();
                assert_eq!(words.save().unwrap(), states[states.len() - 1]);
                words.learn(&out);
                assert_eq!(words.save().unwrap(), after);
                let mut loaded = Vocabulary::new(3, evicts);
                loaded.load(&after).unwrap();
                loaded.learn(&out);
                words.learn(&out);
                assert_eq!(loaded.save().unwrap(), words.save().unwrap());
            }
            assert_eq!(words.len(), 3);
            assert_eq!(words.knows("zz"), evicts);
        }
    }
}
