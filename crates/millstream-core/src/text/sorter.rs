//! The words of a row, in ascending order and counted.

/// How many columns are sorted at once; counts of them fit in a byte.
pub const MOST: usize = 255;
/// How many parts columns are dealt into before they are sorted. Hashed columns lie evenly, so that of a row of a
/// hundred words most are then alone in their part.
const PARTS: usize = 256;

/// Lists that places of one byte reach all of, so that no place needs a check.
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
    /// The columns that occur among up to `MOST`, ascending, and how often each does.
    pub fn count(&mut self, columns: &[u32]) -> (&[u32], &[u8]) {
        let columns = &columns[..columns.len().min(MOST)];
        if columns.is_empty() {
            return (&[], &[]);
        }
        deal(columns, &mut self.dealt);
        self.counts = [0; 256];
        // One more than the columns, which the last one waits for.
        self.dealt[columns.len()] = u32::MAX;
        let dealt = &self.dealt[..=columns.len()];
        // What was dealt lies close to its place: most that are not in order are two that share a part. Of two that
        // follow each other the larger waits, which puts those right without a branch that cannot be predicted.
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
            // A sum, not a branch: whether a word comes again cannot be predicted.
            end += u8::from(next != last);
            last = next;
            self.columns[end as usize] = next;
            self.counts[end as usize] += 1;
        }
        (&self.columns[..=end as usize], &self.counts[..=end as usize])
    }
}

/// Put a column to its place before the end; gives where the end is then.
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

/// Deal columns into parts by their highest bits.
#[inline(always)]
fn deal(columns: &[u32], out: &mut [u32; 256]) {
    let every_bit = columns.iter().fold(0, |bits, &column| bits | column);
    let shift = (32 - every_bit.leading_zeros()).saturating_sub(PARTS.trailing_zeros());
    let part = |column: u32| (column >> shift) as usize % PARTS;
    let mut places = [0u8; PARTS];
    for &column in columns {
        places[part(column)] += 1;
    }
    // Where each part begins, eight parts at a time: the product has in each byte the sum of those below it.
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
