//! Rows that were read, as one sparse matrix.

/// How many parts a row's columns are dealt into before they are sorted: a sixth of a hashed row of text then
/// finds company in its part.
const PARTS: usize = 64;
/// Rows up to this length, and parts up to this size, are sorted by insertion.
const SHORT: usize = 24;

/// A compressed sparse row matrix with what stands beside it. Columns ascend within a row, each once.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Row i has the entries from `starts[i]` to `starts[i + 1]`.
    pub starts: Vec<u64>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    /// NaN where a row has none.
    pub labels: Vec<f64>,
    pub weights: Vec<f64>,
    /// The tags one after the other; tag i ends at `tag_ends[i]`.
    pub tags: Vec<u8>,
    pub tag_ends: Vec<u64>,
    /// One more than the highest column that occurs.
    pub width: usize,
    scratch: Vec<(u32, f64)>,
}

impl Block {
    /// An empty block with room for so many rows and entries, and some more.
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
        block
    }

    /// How many rows are complete.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    #[inline(always)]
    pub fn push(&mut self, index: u32, value: f64) {
        self.indices.push(index);
        self.values.push(value);
    }

    /// Where the open row begins.
    fn open(&self) -> usize {
        self.starts.last().map_or(0, |&start| start as usize)
    }

    /// The values of the open row, once its columns ascend and those that were pushed more than once are added up.
    pub fn settle(&mut self) -> &mut [f64] {
        self.put_in_order();
        let open = self.open();
        &mut self.values[open..]
    }

    /// Close the row that was pushed. Columns that were pushed more than once are added up, in their order.
    pub fn close(&mut self, label: f64, weight: f64, tag: &[u8]) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.put_in_order();
        if let Some(&last) = self.indices[self.open()..].last() {
            self.width = self.width.max(last as usize + 1);
        }
        self.starts.push(self.indices.len() as u64);
        self.labels.push(label);
        self.weights.push(weight);
        self.tags.extend_from_slice(tag);
        self.tag_ends.push(self.tags.len() as u64);
    }

    /// Forget what was pushed since the last row was closed.
    pub fn abandon(&mut self) {
        let open = self.open();
        self.indices.truncate(open);
        self.values.truncate(open);
    }

    fn put_in_order(&mut self) {
        let open = self.open();
        let indices = &self.indices[open..];
        if indices.windows(2).all(|pair| pair[0] < pair[1]) {
            return;
        }
        if indices.len() <= SHORT {
            self.scratch.clear();
            self.scratch.extend(indices.iter().copied().zip(self.values[open..].iter().copied()));
            insertion_sort(&mut self.scratch);
        } else {
            self.deal_and_sort(open);
        }
        let mut end = open;
        for &(index, value) in &self.scratch {
            if end > open && self.indices[end - 1] == index {
                self.values[end - 1] += value;
            } else {
                self.indices[end] = index;
                self.values[end] = value;
                end += 1;
            }
        }
        self.indices.truncate(end);
        self.values.truncate(end);
    }

    /// Deal the entries into parts by the highest bits of their columns, then sort each part: hashed columns lie
    /// evenly, and a few steps of insertion are left. In the order they came among equals.
    fn deal_and_sort(&mut self, open: usize) {
        let (indices, values) = (&self.indices[open..], &self.values[open..]);
        let greatest = indices.iter().fold(0, |most, &index| most | index);
        let shift = (32 - greatest.leading_zeros()).saturating_sub(PARTS.trailing_zeros());
        let part = |index: u32| (index >> shift) as usize & (PARTS - 1);
        let mut counts = [0u32; PARTS];
        for &index in indices {
            counts[part(index)] += 1;
        }
        let even = counts.iter().all(|&count| count as usize <= SHORT);
        let mut sum = 0;
        for count in &mut counts {
            sum += *count;
            *count = sum - *count;
        }
        self.scratch.clear();
        self.scratch.resize(indices.len(), (0, 0.0));
        for (&index, &value) in indices.iter().zip(values) {
            let place = &mut counts[part(index)];
            self.scratch[*place as usize] = (index, value);
            *place += 1;
        }
        if even {
            insertion_sort(&mut self.scratch);
        } else {
            self.scratch.sort_by_key(|&(index, _)| index);
        }
    }
}

fn insertion_sort(entries: &mut [(u32, f64)]) {
    for end in 1..entries.len() {
        let entry = entries[end];
        let mut at = end;
        while at > 0 && entries[at - 1].0 > entry.0 {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_column_twice_is_added_up() {
        let mut block = Block::default();
        for (index, value) in [(7, 1.0), (3, 2.0), (7, 0.5)] {
            block.push(index, value);
        }
        block.close(1.0, 2.0, b"tag");
        block.push(9, 9.0);
        block.abandon();
        block.close(f64::NAN, 1.0, b"");
        assert_eq!(block.starts, [0, 2, 2]);
        assert_eq!((block.indices, block.values), (vec![3, 7], vec![2.0, 1.5]));
        assert_eq!((block.tags, block.tag_ends, block.width), (b"tag".to_vec(), vec![3, 3], 8));
    }

    proptest! {
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
            block.close(0.0, 1.0, b"");
            prop_assert_eq!(&block.indices, &map.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(&block.values, &map.values().copied().collect::<Vec<_>>());
        }
    }
}
