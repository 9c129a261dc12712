//! Slots of one size in pages, so that growth never copies what is there.

use prefetch_index::prefetch_index;

/// Words of a full page. The first pages are smaller, so that a form with a few models stays small.
const PAGE: usize = 1 << 13;
const LINE: usize = 8;

/// Slots of `size` words.
pub struct Slab {
    size: usize,
    /// All pages have 2^`shift` slots, except that the only one may be smaller.
    pages: Vec<Vec<u64>>,
    shift: u32,
    len: u32,
    free: Vec<u32>,
}

impl Slab {
    pub fn new(size: usize) -> Self {
        let size = size.max(1);
        let shift = (PAGE / size).max(1).ilog2();
        Slab { size, pages: Vec::new(), shift, len: 0, free: Vec::new() }
    }

    fn per_page(&self) -> usize {
        1 << self.shift
    }

    /// Number of slots in use.
    pub fn used(&self) -> usize {
        self.len as usize - self.free.len()
    }

    pub fn memory(&self) -> usize {
        self.pages.iter().map(|page| page.capacity() * 8).sum::<usize>() + self.free.capacity() * 4
    }

    /// The most memory of a slab with this many slots, if none is free.
    pub fn charge(&self, slots: usize) -> usize {
        let bytes = slots * self.size * 8;
        bytes + bytes.min(self.per_page() * self.size * 8)
    }

    /// The memory of free slots.
    pub fn free_bytes(&self) -> usize {
        self.free.len() * (self.size * 8 + 4)
    }

    fn capacity(&self) -> usize {
        match self.pages.last() {
            Some(last) => (self.pages.len() - 1) * self.per_page() + last.len() / self.size,
            None => 0,
        }
    }

    /// Slots by which the slab grows: the first page doubles, later ones are whole.
    fn next_page(&self) -> usize {
        match self.pages.as_slice() {
            [] => 1,
            [only] if only.len() < self.per_page() * self.size => only.len() / self.size,
            _ => self.per_page(),
        }
    }

    /// A free slot, whose words may hold anything.
    pub fn take(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        if self.len as usize == self.capacity() {
            let slots = self.next_page();
            let whole = self.per_page() * self.size;
            match self.pages.as_mut_slice() {
                [only] if only.len() < whole => {
                    only.reserve_exact(slots * self.size);
                    only.resize(only.len() + slots * self.size, 0);
                }
                _ => self.pages.push(vec![0; slots * self.size]),
            }
        }
        self.len += 1;
        self.len - 1
    }

    /// Return a slot. A slab without used slots gives back its memory.
    pub fn give(&mut self, slot: u32) {
        self.free.push(slot);
        if self.free.len() == self.len as usize {
            *self = Slab::new(self.size);
        }
    }

    #[inline]
    fn at(&self, slot: u32) -> (usize, usize) {
        let slot = slot as usize;
        (slot >> self.shift, (slot & (self.per_page() - 1)) * self.size)
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &[u64] {
        let (page, at) = self.at(slot);
        &self.pages[page][at..at + self.size]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut [u64] {
        let (page, at) = self.at(slot);
        &mut self.pages[page][at..at + self.size]
    }

    /// Whether a slot was ever taken since the slab was empty.
    pub fn holds(&self, slot: u32) -> bool {
        slot < self.len
    }

    /// Whether most of several pages is free.
    pub fn is_sparse(&self) -> bool {
        self.pages.len() > 1 && self.used() * 3 < self.len as usize
    }

    /// An empty slab with slots of the same size.
    pub fn fresh(&self) -> Self {
        Slab::new(self.size)
    }

    /// All slots that were ever taken, free ones included.
    pub fn each(&self) -> impl Iterator<Item = (u32, &[u64])> + '_ {
        (0..self.len).map(|slot| (slot, self.get(slot)))
    }

    #[inline]
    pub fn prefetch(&self, slot: u32) {
        let (page, at) = self.at(slot);
        for word in (at..at + self.size).step_by(LINE) {
            prefetch_index(&self.pages[page], word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_their_words_while_it_grows() {
        let mut slab = Slab::new(5);
        let mut grown = 0;
        for slot in 0..20_000 {
            let before = slab.memory();
            assert_eq!(slab.take(), slot);
            grown += usize::from(slab.memory() > before);
            assert!(slab.memory() <= slab.charge(slab.used()));
            slab.get_mut(slot).fill(u64::from(slot));
        }
        assert!(grown < 40);
        assert!((0..20_000).all(|slot| slab.get(slot) == [u64::from(slot); 5]));
        slab.give(7);
        assert_eq!((slab.free_bytes(), slab.take(), slab.used()), (44, 7, 20_000));
        (0..20_000).for_each(|slot| slab.give(slot));
        assert_eq!((slab.used(), slab.memory(), slab.take()), (0, 0, 0));
    }
}
