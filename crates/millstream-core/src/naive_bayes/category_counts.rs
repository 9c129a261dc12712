//! Counts of the categories of each feature, by class.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::merging::Side;
use crate::schema::{FeatureKind, Schema};

use super::count_table::CountTable;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub struct CategoryCounts {
    features: Vec<Feature>,
    table: CountTable,
}

/// The rows of the table for one feature. The last category has a row, and so has the last feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Feature {
    /// That of all categories: a missing value is in none.
    total: u32,
    categories: Vec<u32>,
}

impl Default for Feature {
    fn default() -> Self {
        Feature { total: NONE, categories: Vec::new() }
    }
}

#[derive(Serialize, Deserialize)]
pub struct SavedCategories {
    features: Vec<Feature>,
    counts: Vec<f64>,
}

impl CategoryCounts {
    /// The number of features with a category, and those between them without.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// The number of categories of a feature; 0 if there are none.
    pub fn categories(&self, slot: usize) -> usize {
        self.features.get(slot).map_or(0, |feature| feature.categories.len())
    }

    /// The counts of all categories of a feature, by class.
    pub fn totals(&self, slot: usize) -> Option<&[f64]> {
        self.row(self.features.get(slot)?.total)
    }

    /// The counts of a category, by class.
    #[inline]
    pub fn get(&self, slot: usize, category: usize) -> Option<&[f64]> {
        self.row(*self.features.get(slot)?.categories.get(category)?)
    }

    #[inline]
    fn row(&self, row: u32) -> Option<&[f64]> {
        (row != NONE).then(|| self.table.row(row))
    }

    pub fn grow_classes(&mut self, classes: usize) {
        self.table.grow_classes(classes);
    }

    pub fn add(&mut self, slot: usize, category: usize, class: usize, w: f64) {
        if self.features.len() <= slot {
            self.features.resize(slot + 1, Feature::default());
        }
        let Self { features, table } = self;
        let Feature { total, categories } = &mut features[slot];
        if categories.len() <= category {
            categories.resize(category + 1, NONE);
        }
        for row in [total, &mut categories[category]] {
            if *row == NONE {
                *row = table.add_row();
            }
            table.add(*row, class, w);
        }
    }

    pub fn savepoint(&mut self) {
        self.table.savepoint();
    }

    pub fn commit(&mut self) {
        self.table.commit();
    }

    pub fn rollback(&mut self) {
        self.table.rollback();
        let rows = self.table.rows() as u32;
        for feature in &mut self.features {
            for row in feature.categories.iter_mut().chain([&mut feature.total]).filter(|row| **row >= rows) {
                *row = NONE;
            }
            while feature.categories.last() == Some(&NONE) {
                feature.categories.pop();
            }
        }
        while self.features.last().is_some_and(|feature| feature.total == NONE) {
            self.features.pop();
        }
    }

    /// Add the counts of another part of the stream, or subtract them.
    pub fn merge(&mut self, other: &CategoryCounts, side: &Side<'_>, ours: &Schema, sign: f64) -> Result<()> {
        let (codes, theirs) = (side.codes, side.schema);
        let unknown = || Fault::state("the saved state is not valid: a category without a name");
        let classes = codes.iter().filter(|&&code| code != NONE).map(|&code| code as usize + 1).max();
        self.grow_classes(classes.unwrap_or(0));
        for (slot, feature) in other.features.iter().enumerate().filter(|(_, feature)| feature.total != NONE) {
            let kind = *theirs.kinds().get(slot).ok_or_else(unknown)?;
            let here = ours.slot(&theirs.name(slot)).ok_or_else(unknown)?;
            for (category, &row) in feature.categories.iter().enumerate().filter(|(_, &row)| row != NONE) {
                let category = match kind {
                    FeatureKind::Nominal => {
                        let text = theirs.values(slot).text(category as u32).ok_or_else(unknown)?;
                        ours.code(here, text).ok_or_else(unknown)? as usize
                    }
                    _ => category,
                };
                for (&count, &code) in other.table.row(row).iter().zip(codes) {
                    if count > 0.0 && code != NONE {
                        self.add(here as usize, category, code as usize, sign * count);
                    }
                }
            }
        }
        Ok(())
    }

    pub fn saved(&self) -> SavedCategories {
        SavedCategories { features: self.features.clone(), counts: self.table.saved() }
    }

    /// Check what was saved; `most` is the largest count of each class.
    pub fn restored(saved: SavedCategories, who: &str, most: &[f64]) -> Result<Self> {
        let SavedCategories { features, counts } = saved;
        let mut rows = vec![false; counts.len().checked_div(most.len()).unwrap_or(0)];
        require(who, counts.len() == rows.len() * most.len(), "counts are missing")?;
        require(who, CountTable::is_sound(&counts), "a count is negative or not finite")?;
        for (index, Feature { total, categories }) in features.iter().enumerate() {
            let named = *total != NONE;
            require(who, named == (categories.last().is_some_and(|row| *row != NONE)), "a category is missing")?;
            require(who, named || (categories.is_empty() && index + 1 < features.len()), "a feature is missing")?;
            for &row in categories.iter().chain([total]).filter(|row| **row != NONE) {
                let fresh = rows.get_mut(row as usize).is_some_and(|used| !std::mem::replace(used, true));
                require(who, fresh, "a category is out of place")?;
            }
        }
        require(who, rows.iter().all(|used| *used), "counts without a category")?;
        let restored = CategoryCounts { features, table: CountTable::restored(&counts, most.len()) };
        for slot in 0..restored.len() {
            let Some(totals) = restored.totals(slot) else { continue };
            let fit = |row: &[f64], most: &[f64]| row.iter().zip(most).all(|(count, most)| count <= most);
            let categories = (0..restored.categories(slot)).filter_map(|category| restored.get(slot, category));
            let all_fit = fit(totals, most) && categories.into_iter().all(|counts| fit(counts, totals));
            require(who, all_fit, "a count exceeds the total")?;
        }
        Ok(restored)
    }

    pub fn memory(&self) -> usize {
        let features = self.features.iter().map(|feature| 32 + 4 * feature.categories.len());
        self.table.memory() + features.sum::<usize>()
    }
}
