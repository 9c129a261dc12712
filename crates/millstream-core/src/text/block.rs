//! Parsed rows as one sparse matrix.

use super::sorter::{Sorter, MOST as HELD};
use crate::interactions::Group;

/// A compressed sparse row matrix with labels, weights and tags. Columns ascend strictly within a row, unless rows are
/// closed with groups of features.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Row i has the entries from `starts[i]` to `starts[i + 1]`.
    pub starts: Vec<u64>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    /// NaN for a row without one.
    pub labels: Vec<f64>,
    pub weights: Vec<f64>,
    /// The concatenated tags; tag i ends at `tag_ends[i]`.
    pub tags: Vec<u8>,
    pub tag_ends: Vec<u64>,
    /// The groups of features of all rows; those of row i end at `group_ends[i]`. Empty if rows have no groups.
    pub groups: Vec<Group>,
    pub group_ends: Vec<usize>,
    /// Of formats whose rows have costs of classes.
    pub costs: CostLists,
    /// One more than the highest column.
    pub width: usize,
    /// Entries of the open row that all have the value `same`, such as the words of a text. They are held back and
    /// their columns are sorted and counted separately, which takes a quarter of the time.
    held: Vec<u32>,
    held_count: usize,
    same: f64,
    sorter: Sorter,
    pairs: Vec<(u32, f64)>,
    /// A column of the open row whose sum overflowed.
    overflowed: Option<u32>,
}

/// The costs of the classes of each row.
#[derive(Clone, Debug, Default)]
pub struct CostLists {
    pub classes: Vec<u32>,
    /// NaN for a class that is listed without a cost.
    pub values: Vec<f64>,
    /// Row i has the entries before `ends[i]` and not before the end of the row before.
    pub ends: Vec<u64>,
}

impl CostLists {
    /// The start of the open row.
    fn open(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Add a cost to the open row; false if it has one of that class.
    pub fn push(&mut self, class: u32, cost: f64) -> bool {
        if self.classes[self.open()..].contains(&class) {
            return false;
        }
        self.classes.push(class);
        self.values.push(cost);
        true
    }

    /// Close the open row.
    pub fn close(&mut self) {
        self.ends.push(self.classes.len() as u64);
    }

    fn abandon(&mut self) {
        let open = self.open();
        self.classes.truncate(open);
        self.values.truncate(open);
    }
}

impl Block {
    /// An empty block with room for at least this many rows and entries.
    pub fn with_room(rows: usize, entries: usize) -> Self {
        let room = |count: usize| count + count / 16 + 1;
        let mut block = Block {
            starts: Vec::with_capacity(room(rows)),
            indices: Vec::with_capacity(room(entries)),
            values: Vec::with_capacity(room(entries)),
            labels: Vec::with_capacity(room(rows)),
            weights: Vec::with_capacity(room(rows)),
            ..Block::default()
        };
        block.starts.push(0);
        block.held.resize(HELD, 0);
        block
    }

    /// Number of complete rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    #[inline]
    pub fn push(&mut self, index: u32, value: f64) {
        if self.held_count > 0 {
            self.release();
        }
        self.indices.push(index);
        self.values.push(value);
    }

    /// Set the value of entries pushed by `push_same`.
    pub fn set_same(&mut self, value: f64) {
        if value != self.same {
            self.release();
            self.same = value;
        }
    }

    /// Push an entry with the value of `set_same`.
    #[inline(always)]
    pub fn push_same(&mut self, index: u32) {
        if self.held_count >= self.held.len() {
            self.release();
        }
        self.held[self.held_count] = index;
        self.held_count += 1;
    }

    /// Room for up to `count` entries with the value of `set_same`; call `keep` with the number of written entries.
    #[inline(always)]
    pub fn room(&mut self, count: usize) -> &mut [u32] {
        if self.held.len() - self.held_count < count {
            self.release();
        }
        &mut self.held[self.held_count..][..count]
    }

    /// Keep the first `count` entries written to `room`.
    #[inline(always)]
    pub fn keep(&mut self, count: usize) {
        self.held_count += count;
    }

    /// Append the held-back entries to the other entries of the row.
    #[cold]
    fn release(&mut self) {
        self.indices.extend_from_slice(&self.held[..self.held_count]);
        self.values.resize(self.indices.len(), self.same);
        self.held_count = 0;
        self.held.resize(HELD, 0);
    }

    /// The start of the open row.
    fn open(&self) -> usize {
        self.starts.last().map_or(0, |&start| start as usize)
    }

    /// Sort the columns of the open row and add up duplicates; returns its values.
    pub fn settle(&mut self) -> &mut [f64] {
        let open = self.open();
        // Sums of ones are exact in any order.
        if self.held_count > 0 && self.indices.len() == open && self.same == 1.0 {
            self.count_held();
        } else {
            if self.held_count > 0 {
                self.release();
            }
            if !self.indices[open..].windows(2).all(|pair| pair[0] < pair[1]) {
                self.sort_pairs(open);
            }
        }
        &mut self.values[open..]
    }

    /// Close the open row. The values of duplicate columns are added in order. If a sum overflows, its column is the
    /// error and the row stays open, to be abandoned.
    pub fn close(&mut self, label: f64, weight: f64, tag: &[u8]) -> Result<(), u32> {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.settle();
        if let Some(column) = self.overflowed {
            return Err(column);
        }
        if let Some(&last) = self.indices[self.open()..].last() {
            self.width = self.width.max(last as usize + 1);
        }
        self.end_row(label, weight, tag);
        Ok(())
    }

    /// Close the open row with its columns as they are, in groups of features.
    pub fn close_groups(&mut self, label: f64, weight: f64, tag: &[u8], groups: &[Group]) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.flush();
        self.groups.extend_from_slice(groups);
        self.group_ends.push(self.groups.len());
        self.end_row(label, weight, tag);
    }

    fn end_row(&mut self, label: f64, weight: f64, tag: &[u8]) {
        self.starts.push(self.indices.len() as u64);
        self.labels.push(label);
        self.weights.push(weight);
        self.tags.extend_from_slice(tag);
        self.tag_ends.push(self.tags.len() as u64);
    }

    /// Number of entries of the open row so far, none of which is held back any more.
    pub fn flush(&mut self) -> usize {
        if self.held_count > 0 {
            self.release();
        }
        self.indices.len() - self.open()
    }

    /// The entries of the open row after `flush`.
    pub fn open_row(&self) -> (&[u32], &[f64]) {
        let open = self.open();
        (&self.indices[open..], &self.values[open..])
    }

    /// Replace the entries of the open row.
    pub fn replace(&mut self, indices: &[u32], values: &[f64]) {
        let open = self.open();
        self.held_count = 0;
        self.indices.truncate(open);
        self.values.truncate(open);
        self.indices.extend_from_slice(indices);
        self.values.extend_from_slice(values);
    }

    /// Discard the open row.
    pub fn abandon(&mut self) {
        let open = self.open();
        self.indices.truncate(open);
        self.values.truncate(open);
        self.held_count = 0;
        self.overflowed = None;
        self.costs.abandon();
    }

    /// Append the held-back columns in ascending order, with their counts.
    fn count_held(&mut self) {
        let counted = self.sorter.count(&self.held[..self.held_count]);
        self.indices.extend_from_slice(counted.0);
        self.values.extend(counted.1.iter().map(|&count| f64::from(count)));
        self.held_count = 0;
    }

    fn sort_pairs(&mut self, open: usize) {
        self.pairs.clear();
        self.pairs.extend(self.indices[open..].iter().copied().zip(self.values[open..].iter().copied()));
        // A stable sort: the values of a column are added in their order.
        self.pairs.sort_by_key(|&(index, _)| index);
        let mut end = open;
        for &(index, value) in &self.pairs {
            if end > open && self.indices[end - 1] == index {
                self.values[end - 1] += value;
                if !self.values[end - 1].is_finite() {
                    self.overflowed.get_or_insert(index);
                }
            } else {
                self.indices[end] = index;
                self.values[end] = value;
                end += 1;
            }
        }
        self.indices.truncate(end);
        self.values.truncate(end);
    }
}

#[cfg(test)]
impl Block {
    /// The guarantees for rows that learners do not check.
    pub fn assert_sound(&self, width: usize) {
        assert!(self.starts.iter().zip(self.starts.iter().skip(1)).all(|(start, end)| start <= end));
        assert_eq!(self.indices.len(), self.values.len());
        assert_eq!(self.open(), self.indices.len());
        for row in self.starts.windows(2) {
            let columns = &self.indices[row[0] as usize..row[1] as usize];
            assert!(columns.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(columns.last().is_none_or(|&last| (last as usize) < width.min(self.width)));
        }
        assert!(self.values.iter().all(|value| value.is_finite()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_that_overflows_leaves_nothing() {
        let mut block = Block::with_room(1, 1);
        [3, 1, 3].into_iter().for_each(|column| block.push(column, 1e308));
        assert_eq!(block.close(1.0, 1.0, b"tag"), Err(3));
        block.abandon();
        block.push(2, 5.0);
        assert_eq!(block.close(1.0, 1.0, b""), Ok(()));
        assert_eq!((block.starts, block.indices, block.values), (vec![0, 1], vec![2], vec![5.0]));
        assert_eq!((block.width, block.tags.len(), block.labels.len()), (3, 0, 1));
    }

    #[test]
    fn a_column_twice_is_added_up() {
        let mut block = Block::default();
        for (index, value) in [(7, 1.0), (3, 2.0), (7, 0.5)] {
            block.push(index, value);
        }
        assert_eq!(block.close(1.0, 2.0, b"tag"), Ok(()));
        block.push(9, 9.0);
        block.abandon();
        assert_eq!(block.close(f64::NAN, 1.0, b""), Ok(()));
        assert_eq!(block.starts, [0, 2, 2]);
        assert_eq!((block.indices, block.values), (vec![3, 7], vec![2.0, 1.5]));
        assert_eq!((block.tags, block.tag_ends, block.width), (b"tag".to_vec(), vec![3, 3], 8));
    }

    proptest! {
        #[test]
        fn rows_that_count_the_same_are_as_a_map_would_have_them(
            entries in prop::collection::vec(prop_oneof![0..8u32, 0..1u32 << 22, any::<u32>()], 0..300),
            others in prop::collection::vec((0..64u32, -4..4i32), 0..3),
        ) {
            let mut block = Block::default();
            let mut map = std::collections::BTreeMap::new();
            block.set_same(1.0);
            for &index in &entries {
                block.push_same(index);
                *map.entry(index).or_insert(0.0) += 1.0;
            }
            for &(index, value) in &others {
                block.push(index, f64::from(value));
                *map.entry(index).or_insert(0.0) += f64::from(value);
            }
            assert_eq!(block.close(0.0, 1.0, b""), Ok(()));
            prop_assert_eq!(&block.indices, &map.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(&block.values, &map.values().copied().collect::<Vec<_>>());
        }

        #[test]
        fn rows_are_as_a_map_would_have_them(
            entries in prop::collection::vec((prop_oneof![0..8u32, 0..1u32 << 22, any::<u32>()], -4..4i32), 0..200)
        ) {
            let mut block = Block::default();
            let mut map = std::collections::BTreeMap::new();
            for &(index, value) in &entries {
                block.push(index, f64::from(value));
                *map.entry(index).or_insert(0.0) += f64::from(value);
            }
            assert_eq!(block.close(0.0, 1.0, b""), Ok(()));
            prop_assert_eq!(&block.indices, &map.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(&block.values, &map.values().copied().collect::<Vec<_>>());
        }
    }
}
