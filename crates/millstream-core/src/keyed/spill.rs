//! The file that models go to when memory is short.
//!
//! The file is a cache of one object: it is not read by another process or after a restart, because a dump contains the
//! spilled models too. On Unix it has no name, so that nothing is left behind by a process that is killed. The checksum of
//! a slot is kept in memory, so that neither damaged nor outdated bytes are ever loaded.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::fault::{Fault, Result};

/// Slots are multiples of this, in bytes.
const UNIT: u64 = 64;
/// A shard reserves this many units of the file at a time.
const EXTENT: u64 = 1 << 12;
/// Sizes above this many units are rounded to an eighth of a power of two, so that slots are used again.
const EXACT: u64 = 64;

/// The file of all shards.
pub struct SpillFile {
    file: File,
    folder: PathBuf,
    /// Units reserved so far.
    end: AtomicU64,
}

/// Where the state of a model lies, with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillPlace {
    unit: u32,
    length: u32,
    checksum: u32,
}

impl SpillPlace {
    /// As words, the first of which has room for 32 more bits.
    pub fn words(self) -> [u64; 2] {
        [u64::from(self.checksum), u64::from(self.unit) | u64::from(self.length) << 32]
    }

    pub fn of(words: &[u64]) -> Self {
        SpillPlace { unit: words[1] as u32, length: (words[1] >> 32) as u32, checksum: words[0] as u32 }
    }

    fn units(self) -> u64 {
        rounded(u64::from(self.length))
    }
}

/// The units of a slot of this many bytes.
fn rounded(length: u64) -> u64 {
    let units = length.div_ceil(UNIT).max(1);
    match units > EXACT {
        true => units.next_multiple_of(1 << (units.ilog2() - 3)),
        false => units,
    }
}

impl SpillFile {
    /// A new file in a folder.
    pub fn create(folder: &Path) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let refuse = |error: io::Error| {
            Fault::state(format!("compose.Keyed: models cannot be spilled to {}: {error}", folder.display()))
        };
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("keyed-{}-{number}.spill", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    #[cfg(unix)]
                    std::fs::remove_file(&path).map_err(refuse)?;
                    return Ok(SpillFile { file, folder: folder.into(), end: AtomicU64::new(0) });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refuse(error)),
            }
        }
    }

    /// The bytes of the file that were reserved.
    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed) * UNIT
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    #[cfg(unix)]
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    #[cfg(unix)]
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn read(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, bytes, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => (bytes, offset) = (&mut bytes[read..], offset + read as u64),
            }
        }
        Ok(())
    }

    #[cfg(windows)]
    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => (bytes, offset) = (&bytes[written..], offset + written as u64),
            }
        }
        Ok(())
    }
}

/// Bytes and words of one state.
#[derive(Default)]
pub struct Buffers {
    pub bytes: Vec<u8>,
    pub words: Vec<u64>,
}

/// The slots of one shard.
pub struct Spill {
    file: Arc<SpillFile>,
    /// The extent that new slots are taken from.
    next: u64,
    end: u64,
    /// Free slots by their number of units.
    free: FxHashMap<u64, Vec<u32>>,
    /// For readers, of which there may be several at a time.
    buffers: Mutex<Vec<Buffers>>,
}

impl Spill {
    pub fn new(file: Arc<SpillFile>) -> Self {
        Spill { file, next: 0, end: 0, free: FxHashMap::default(), buffers: Mutex::default() }
    }

    /// The memory of the lists of free slots.
    pub fn memory(&self) -> usize {
        self.free.values().map(|slots| slots.capacity() * 4).sum()
    }

    /// Write the state of a model to a slot.
    pub fn put(&mut self, state: &[u8]) -> Result<SpillPlace> {
        let length = u32::try_from(state.len()).map_err(|_| self.refuse("a model takes more than 4 GiB"))?;
        let units = rounded(state.len() as u64);
        let unit = match self.free.get_mut(&units).and_then(Vec::pop) {
            Some(unit) => unit,
            None => self.reserve(units)?,
        };
        let place = SpillPlace { unit, length, checksum: crc32c::crc32c(state) };
        match self.file.write(state, u64::from(unit) * UNIT) {
            Ok(()) => Ok(place),
            Err(error) => {
                self.release(place);
                Err(self.refuse(&error.to_string()))
            }
        }
    }

    fn reserve(&mut self, units: u64) -> Result<u32> {
        if self.next + units > self.end {
            let extent = units.max(EXTENT);
            self.next = self.file.end.fetch_add(extent, Ordering::Relaxed);
            self.end = self.next + extent;
        }
        let unit = u32::try_from(self.next).map_err(|_| self.refuse("the file has reached 256 GiB"))?;
        self.next += units;
        Ok(unit)
    }

    #[cold]
    fn refuse(&self, why: &str) -> Fault {
        Fault::state(format!("compose.Keyed: models cannot be spilled to {}: {why}", self.file.folder.display()))
    }

    /// The slot may be used for another model.
    pub fn release(&mut self, place: SpillPlace) {
        self.free.entry(place.units()).or_default().push(place.unit);
    }

    /// Give the state in a slot to `work`, as bytes and as words.
    pub fn with<R>(&self, place: SpillPlace, work: impl FnOnce(&Buffers) -> Result<R>) -> Result<R> {
        let mut buffers = self.take_buffers();
        buffers.bytes.resize(place.length as usize, 0);
        let read = self.file.read(&mut buffers.bytes, u64::from(place.unit) * UNIT);
        let result = match read {
            Err(error) => Err(self.unreadable(&error.to_string())),
            Ok(()) if crc32c::crc32c(&buffers.bytes) != place.checksum => {
                Err(self.unreadable("its checksum does not match"))
            }
            Ok(()) => {
                let Buffers { bytes, words } = &mut buffers;
                words.clear();
                words.extend(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
                work(&buffers)
            }
        };
        self.give_buffers(buffers);
        result
    }

    #[cold]
    fn unreadable(&self, why: &str) -> Fault {
        let folder = self.file.folder.display();
        Fault::state(format!("the model that was spilled to {folder} is damaged ({why})"))
    }

    pub fn take_buffers(&self) -> Buffers {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub fn give_buffers(&self, buffers: Buffers) {
        let mut pool = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < 4 {
            pool.push(buffers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_and_slots_are_used_again() {
        let file = Arc::new(SpillFile::create(&std::env::temp_dir()).expect("a folder"));
        let mut spill = Spill::new(file.clone());
        let states: Vec<Vec<u8>> =
            (0..200_u32).map(|i| (0..i * i).map(|at| (at * 31 + i) as u8).collect()).collect();
        let places: Vec<SpillPlace> = states.iter().map(|state| spill.put(state).expect("room")).collect();
        let read = |spill: &Spill, place| spill.with(place, |buffers| Ok(buffers.bytes.clone()));
        for (state, &place) in states.iter().zip(&places) {
            assert_eq!(SpillPlace::of(&place.words()), place);
            assert_eq!(&read(&spill, place).expect("sound"), state);
        }
        let size = file.bytes();
        places.iter().for_each(|&place| spill.release(place));
        let again: Vec<SpillPlace> = states.iter().rev().map(|state| spill.put(state).expect("room")).collect();
        assert_eq!(file.bytes(), size);
        // The old places have other bytes now.
        assert!(read(&spill, places[150]).is_err() || again.contains(&places[150]));
        file.write(&[255, 254], u64::from(again[9].unit) * UNIT + 100).expect("room");
        let fault = read(&spill, again[9]).expect_err("it is damaged");
        assert!(fault.message().ends_with("is damaged (its checksum does not match)"), "{fault}");
        assert!(SpillFile::create(Path::new("/no/such/folder")).is_err());
    }
}
