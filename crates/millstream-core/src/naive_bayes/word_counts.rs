//! Counts of words by class. A word is a number's feature or a nominal feature's value.
//!
//! A table of a million columns has rows only for the words that were counted: `pages` finds the row of a word.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::linear_model::Coordinates;
use crate::merging::Side;
use crate::optim::Features;
use crate::row::Row;
use crate::schema::Schema;

use super::count_table::CountTable;

const PAGE: usize = 1024;
/// The row of a word that was never counted.
const NONE: u32 = u32::MAX;
/// A saved model with more words is not read.
const MOST_WORDS: usize = 1 << 30;

#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    pub coordinates: Coordinates,
    /// The word of each row.
    words: Vec<u32>,
    /// The row of each word.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    table: CountTable,
    /// The number of known words at `savepoint`.
    width_before: usize,
}

#[derive(Serialize, Deserialize)]
pub struct SavedCounts {
    coordinates: Coordinates,
    words: Vec<u32>,
    counts: Vec<f64>,
}

impl WordCounts {
    /// The number of known words, counted or not.
    pub fn width(&self) -> usize {
        self.coordinates.width()
    }

    /// The counts of a word by class, if it was ever counted.
    #[inline(always)]
    pub fn get(&self, word: u32) -> Option<&[f64]> {
        self.row_of(word).map(|row| self.table.row(row))
    }

    #[inline(always)]
    fn row_of(&self, word: u32) -> Option<u32> {
        let page = self.pages.get(word as usize / PAGE)?.as_ref()?;
        Some(page[word as usize % PAGE]).filter(|&row| row != NONE)
    }

    /// Know the words of a row. Returns whether there are new ones.
    pub fn grow(&mut self, x: Row<'_>, classes: usize) -> bool {
        let grows = classes > self.table.classes();
        self.table.grow_classes(classes);
        if self.coordinates.may_grow(x) {
            let before = self.coordinates.grow(x);
            return grows || self.width() > before;
        }
        grows
    }

    /// Add to the count of a known word, and return its counts after, and the one before.
    #[inline]
    pub fn add(&mut self, word: u32, class: usize, amount: f64) -> (&[f64], f64) {
        let row = match self.row_of(word) {
            Some(row) => row,
            None => self.add_word(word),
        };
        let before = self.table.add(row, class, amount);
        (self.table.row(row), before)
    }

    #[cold]
    fn add_word(&mut self, word: u32) -> u32 {
        let row = self.table.add_row();
        self.words.push(word);
        self.set_row(word, row);
        row
    }

    fn set_row(&mut self, word: u32, row: u32) {
        let page = word as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[word as usize % PAGE] = row;
    }

    /// Visit the counts of all counted words.
    pub fn each(&self, mut visit: impl FnMut(&[f64])) {
        (0..self.table.rows()).for_each(|row| visit(self.table.row(row as u32)));
    }

    pub fn counted(&self) -> usize {
        self.words.len()
    }

    pub fn savepoint(&mut self) {
        self.width_before = self.width();
        self.table.savepoint();
    }

    pub fn commit(&mut self) {
        self.table.commit();
    }

    pub fn rollback(&mut self) {
        self.table.rollback();
        for word in self.words.split_off(self.table.rows()) {
            self.set_row(word, NONE);
        }
        self.coordinates.shrink(self.width_before);
    }

    /// Add the counts of another part of the stream, or subtract them.
    pub fn merge(&mut self, other: &WordCounts, side: &Side<'_>, ours: &Schema, sign: f64) -> Result<()> {
        let (codes, theirs) = (side.codes, side.schema);
        let words = self.coordinates.join(&other.coordinates, theirs, ours)?;
        let classes = codes.iter().filter(|&&code| code != u32::MAX).map(|&code| code as usize + 1).max();
        self.table.grow_classes(classes.unwrap_or(0));
        for (row, &word) in other.words.iter().enumerate() {
            for (&count, &code) in other.table.row(row as u32).iter().zip(codes) {
                if count > 0.0 && code != u32::MAX {
                    self.add(words[word as usize], code as usize, sign * count);
                }
            }
        }
        Ok(())
    }

    pub fn saved(&self) -> SavedCounts {
        SavedCounts {
            coordinates: self.coordinates.clone(),
            words: self.words.clone(),
            counts: self.table.saved(),
        }
    }

    /// Check what was saved; `most` is the largest count that a class can have.
    pub fn restored(saved: SavedCounts, who: &str, most: &[f64]) -> Result<Self> {
        let SavedCounts { coordinates, words, counts } = saved;
        coordinates.validate(who)?;
        require(who, coordinates.width() <= MOST_WORDS, "too many words")?;
        require(who, counts.len() == words.len() * most.len(), "counts are missing")?;
        require(who, !most.is_empty() || words.is_empty(), "words without a class")?;
        require(who, CountTable::is_sound(&counts), "a count is negative or not finite")?;
        let fit = |row: &[f64]| row.iter().zip(most).all(|(count, most)| count <= most);
        require(who, most.is_empty() || counts.chunks_exact(most.len()).all(fit), "a count exceeds the total")?;
        let mut restored =
            WordCounts { table: CountTable::restored(&counts, most.len()), coordinates, ..WordCounts::default() };
        for (row, &word) in words.iter().enumerate() {
            let fresh = (word as usize) < restored.width() && restored.row_of(word).is_none();
            require(who, fresh, "a word is out of place")?;
            restored.set_row(word, row as u32);
        }
        restored.words = words;
        Ok(restored)
    }

    pub fn memory(&self) -> usize {
        let pages = self.pages.iter().flatten().count();
        self.coordinates.memory() + self.table.memory() + 4 * self.words.len() + 4 * PAGE * pages
    }
}

/// Visit the known words of a row that are not 0, with their numbers.
#[inline(always)]
pub fn each_word(features: Features<'_>, width: usize, mut visit: impl FnMut(u32, f64)) {
    let mut visit = |word: u32, number: f64| {
        if number != 0.0 && (word as usize) < width {
            visit(word, number);
        }
    };
    match features {
        Features::Dense(numbers) => {
            for (word, &number) in numbers.iter().enumerate() {
                visit(word as u32, number);
            }
        }
        Features::Sparse(words, numbers) => {
            for (&word, &number) in words.iter().zip(numbers) {
                visit(word, number);
            }
        }
    }
}
