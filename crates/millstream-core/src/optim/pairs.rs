//! Many weights, each next to its memory, in large pages.
//!
//! A step of a model with millions of weights reads a few scattered ones. With small pages most of these reads need an
//! address translation first; Linux provides large pages on request.

use std::alloc::{handle_alloc_error, Layout};
use std::ops::{Deref, DerefMut, Range};
use std::thread;
use std::time::{Duration, Instant};

use memmap2::MmapMut;

use super::paired::Pair;

/// Bytes of a small page, and of a large one.
const SMALL: usize = 1 << 12;
const LARGE: usize = 1 << 21;

/// A large page that takes longer had to be compacted or came from a remote node: 512 small ones are faster. A single one
/// may have waited for another program; after two in a row no more are requested.
const PATIENCE: Duration = Duration::from_millis(2);

/// Bytes of small pages from which on two threads fetch them. One thread takes about 4 ms; starting another takes
/// microseconds.
const SHARED: usize = 1 << 23;

/// A vector of pairs.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Zeros from `len` on.
    memory: Option<MmapMut>,
    len: usize,
}

impl Pairs {
    /// Number of pairs that fit in the allocated memory.
    pub fn capacity(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.len() / size_of::<Pair>())
    }

    /// Make room for this many; new ones are zeros.
    pub fn grow(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        let room = len.max(2 * self.len) * size_of::<Pair>();
        match &mut self.memory {
            Some(memory) if memory.len() >= len * size_of::<Pair>() => populate(memory, bytes(self.len..len)),
            _ => {
                let mut memory = MmapMut::map_anon(room).unwrap_or_else(|_| handle_alloc_error(layout(room)));
                populate(&mut memory, bytes(0..len));
                bytemuck::cast_slice_mut(&mut memory)[..self.len].copy_from_slice(self);
                self.memory = Some(memory);
            }
        }
        self.len = len;
    }

    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self[len..].fill([0.0; 2]);
            self.len = len;
        }
    }
}

/// So many bytes, for those who are told that there are not as many.
fn layout(bytes: usize) -> Layout {
    Layout::array::<u8>(bytes).unwrap_or(Layout::new::<Pair>())
}

fn bytes(pairs: Range<usize>) -> Range<usize> {
    pairs.start * size_of::<Pair>()..pairs.end * size_of::<Pair>()
}

/// Have the system give the pages of a range of zeros, large ones as long as they come quickly.
fn populate(memory: &mut MmapMut, range: Range<usize>) {
    let mut at = range.start;
    let mut index = at.saturating_add(memory[at..].as_ptr().align_offset(LARGE));
    let mut slow = 0;
    while slow < 2 && index.saturating_add(LARGE) <= range.end && wish_for_large(memory, index) {
        touch(&mut memory[at..index]);
        at = index + LARGE;
        let begun = Instant::now();
        touch(&mut memory[index..at]);
        slow = if begun.elapsed() > PATIENCE { slow + 1 } else { 0 };
        index = at;
    }
    touch_together(&mut memory[at..range.end]);
}

/// Whether a large page may come at `index`. Without it all is as right.
#[cfg(target_os = "linux")]
fn wish_for_large(memory: &MmapMut, index: usize) -> bool {
    memory.advise_range(memmap2::Advice::HugePage, index, LARGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn wish_for_large(_: &MmapMut, _: usize) -> bool {
    false
}

/// Many pages in two threads: the system zeroes each before it gives it.
fn touch_together(memory: &mut [u8]) {
    if memory.len() < SHARED {
        return touch(memory);
    }
    let (mine, others) = memory.split_at_mut(memory.len() / 2);
    thread::scope(|scope| {
        // Where there can be no other thread, pages come when they are written to.
        let _ = thread::Builder::new().spawn_scoped(scope, || touch(others));
        touch(mine);
    });
}

/// Write to each page: one that is read before it is written is fetched twice.
fn touch(memory: &mut [u8]) {
    memory.chunks_mut(SMALL).for_each(|page| page[0] = 0);
}

impl Deref for Pairs {
    type Target = [Pair];

    #[inline]
    fn deref(&self) -> &[Pair] {
        self.memory.as_ref().map_or(&[], |memory| &bytemuck::cast_slice(memory)[..self.len])
    }
}

impl DerefMut for Pairs {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Pair] {
        self.memory.as_mut().map_or(&mut [], |memory| &mut bytemuck::cast_slice_mut(memory)[..self.len])
    }
}

impl Clone for Pairs {
    fn clone(&self) -> Self {
        let mut copy = Pairs::default();
        copy.grow(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_write_to_all_pages() {
        let mut memory = vec![1; SHARED + SMALL + 1];
        touch_together(&mut memory);
        let half = memory.len() / 2;
        for part in [&memory[..half], &memory[half..]] {
            assert!(part.chunks(SMALL).all(|page| page[0] == 0 && page[1..].iter().all(|&byte| byte == 1)));
        }
    }

    #[test]
    fn they_are_as_a_vector() {
        let (mut pairs, mut vector) = (Pairs::default(), Vec::new());
        assert!(pairs.is_empty() && pairs.clone().is_empty());
        // A large page holds 131,072 pairs.
        for (round, len) in [1, 3, 300, 299, 5000, 4000, 4700, 0, 2, 300_000, 700_001, 9].into_iter().enumerate() {
            pairs.truncate(len);
            pairs.grow(len);
            vector.resize(len, [0.0; 2]);
            assert_eq!(pairs[..], vector[..]);
            for index in (0..len).step_by(7) {
                pairs[index] = [round as f64, index as f64];
                vector[index] = pairs[index];
            }
            assert_eq!(pairs.clone()[..], vector[..]);
            assert!(pairs.capacity() >= len);
        }
    }
}
