//! Sorts and counts the columns of the words of a row.

/// Maximum number of columns; counts fit in a byte.
pub const MOST: usize = 255;
/// Number of buckets before sorting. Hashed columns are evenly distributed, so most words of a row of a hundred are
/// alone in their bucket.
const PARTS: usize = 256;

/// Lists of 256 entries, so that an index of one byte needs no check.
#[derive(Clone, Debug)]
pub struct Sorter {
    dealt: [u32; 256],
    columns: [u32; 256],
    counts: [u8; 256],
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter { dealt: [0; 256], columns: [0; 256], counts: [0; 256] }
    }
}

impl Sorter {
    /// The distinct columns among up to `MOST`, ascending, and their counts.
    pub fn count(&mut self, columns: &[u32]) -> (&[u32], &[u8]) {
        let columns = &columns[..columns.len().min(MOST)];
        if columns.is_empty() {
            return (&[], &[]);
        }
        deal(columns, &mut self.dealt);
        self.counts = [0; 256];
        // A sentinel after the last column.
        self.dealt[columns.len()] = u32::MAX;
        let dealt = &self.dealt[..=columns.len()];
        // Columns are nearly sorted after dealing: most inversions are two columns of one bucket. Of two neighbours the
        // larger waits, which sorts them without an unpredictable branch.
        let mut waiting = dealt[0];
        let mut last = dealt[0].min(dealt[1]);
        let mut end = 0u8;
        for &column in &dealt[1..] {
            let next = waiting.min(column);
            waiting = waiting.max(column);
            if next < last {
                end = insert(&mut self.columns, &mut self.counts, next, end);
                continue;
            }
            // A sum instead of a branch: repeated words are unpredictable.
            end += u8::from(next != last);
            last = next;
            self.columns[end as usize] = next;
            self.counts[end as usize] += 1;
        }
        (&self.columns[..=end as usize], &self.counts[..=end as usize])
    }
}

/// Insert a column before the end; returns the new end.
#[cold]
fn insert(columns: &mut [u32; 256], counts: &mut [u8; 256], column: u32, end: u8) -> u8 {
    let mut place = end as usize;
    while place > 0 && columns[place - 1] >= column {
        place -= 1;
    }
    if columns[place] == column {
        counts[place] += 1;
        return end;
    }
    columns.copy_within(place..=end as usize, place + 1);
    counts.copy_within(place..=end as usize, place + 1);
    (columns[place], counts[place]) = (column, 1);
    end + 1
}

/// Deal columns into buckets by their highest bits.
#[inline(always)]
fn deal(columns: &[u32], out: &mut [u32; 256]) {
    let every_bit = columns.iter().fold(0, |bits, &column| bits | column);
    let shift = (32 - every_bit.leading_zeros()).saturating_sub(PARTS.trailing_zeros());
    let part = |column: u32| (column >> shift) as usize % PARTS;
    let mut places = [0u8; PARTS];
    for &column in columns {
        places[part(column)] += 1;
    }
    // The start of each bucket, eight at a time: each byte of the product is the sum of the bytes below it.
    let mut sum = 0u8;
    for eight in places.as_chunks_mut::<8>().0 {
        let counts = u64::from_le_bytes(*eight);
        let sums = counts.wrapping_mul(0x0101_0101_0101_0101);
        let starts = (sums << 8).wrapping_add(u64::from(sum).wrapping_mul(0x0101_0101_0101_0101));
        *eight = starts.to_le_bytes();
        sum = sum.wrapping_add((sums >> 56) as u8);
    }
    for &column in columns {
        let place = &mut places[part(column)];
        out[*place as usize] = column;
        *place = place.wrapping_add(1);
    }
}
