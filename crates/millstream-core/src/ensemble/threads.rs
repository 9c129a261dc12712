//! The threads that all ensembles of a process share: one pool for each number of threads.
//!
//! A forked process has the memory of its parent but none of its threads, so it creates its own pools.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::fault::Result;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::row::Scratch;

/// The largest number of threads that is accepted.
const MOST: i64 = 256;

pub const N_THREADS: Parameter = Parameter::new(
    "n_threads",
    Kind::Optional(&Kind::Integer { low: 1, high: MOST }),
    DefaultValue::Integer(1),
    "number of threads for batches, null for one per core; the result does not depend on it",
);

/// The requested number of threads.
pub fn count(arguments: &Arguments<'_>) -> Result<usize> {
    if arguments.value("n_threads")?.is_null() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        return Ok(cores.min(MOST as usize));
    }
    arguments.size("n_threads")
}

struct Pools {
    process: u32,
    pools: Vec<(usize, Arc<ThreadPool>)>,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools { process: 0, pools: Vec::new() });

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
    /// Whether this thread works on one of the items that it has distributed.
    static DISTRIBUTES: Cell<bool> = const { Cell::new(false) };
}

/// Sets `DISTRIBUTES` until it is dropped.
struct Distributing;

impl Distributing {
    fn start() -> Self {
        DISTRIBUTES.set(true);
        Distributing
    }
}

impl Drop for Distributing {
    fn drop(&mut self) {
        DISTRIBUTES.set(false);
    }
}

/// Whether this thread may distribute items: it is not working on one itself.
fn is_free() -> bool {
    rayon::current_thread_index().is_none() && !DISTRIBUTES.get()
}

/// None if another thread held the lock when the process was forked: it is never released here.
fn pools() -> Option<MutexGuard<'static, Pools>> {
    (0..1000).find_map(|_| {
        POOLS.try_lock().ok().or_else(|| {
            std::thread::yield_now();
            None
        })
    })
}

fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let mut pools = pools()?;
    let process = std::process::id();
    if pools.process != process {
        // Not dropped: that would wait for threads of the parent.
        std::mem::forget(std::mem::take(&mut pools.pools));
        pools.process = process;
    }
    if let Some((_, pool)) = pools.pools.iter().find(|(size, _)| *size == threads) {
        return Some(pool.clone());
    }
    let name = |number| format!("millstream-{number}");
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?);
    pools.pools.push((threads, pool.clone()));
    Some(pool)
}

/// Apply `work` to each item, one by one on up to `threads` threads. A single thread is the caller's own, as it is for
/// an ensemble inside an ensemble, whose members are already distributed.
pub fn each<T: Send>(
    threads: usize,
    items: &mut [T],
    scratch: &mut Scratch,
    work: impl Fn(&mut T, &mut Scratch) + Sync,
) {
    let threads = threads.min(items.len());
    let pool = match threads > 1 && is_free() {
        true => pool(threads),
        false => None,
    };
    match pool {
        Some(pool) => pool.install(|| {
            items.par_iter_mut().with_max_len(1).for_each(|item| {
                let mut scratch = SCRATCH.take();
                work(item, &mut scratch);
                SCRATCH.set(scratch);
            });
        }),
        None => items.iter_mut().for_each(|item| work(item, scratch)),
    }
}

/// Likewise, where one of the threads is the caller's own. For items of less than a millisecond: the caller does not wait
/// until another thread is awake.
pub fn each_beside<T: Send>(
    threads: usize,
    items: &mut [T],
    scratch: &mut Scratch,
    work: impl Fn(&mut T, &mut Scratch) + Sync,
) {
    let threads = threads.min(items.len());
    let helpers = if threads > 1 && is_free() { pool(threads - 1) } else { None };
    let Some(helpers) = helpers else {
        items.iter_mut().for_each(|item| work(item, scratch));
        return;
    };
    let items = Mutex::new(items.iter_mut());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    helpers.in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| {
                let mut scratch = SCRATCH.take();
                while let Some(item) = next() {
                    work(item, &mut scratch);
                }
                SCRATCH.set(scratch);
            });
        }
        let _distributing = Distributing::start();
        while let Some(item) = next() {
            work(item, scratch);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_pools_are_shared() {
        let mut scratch = Scratch::default();
        for threads in [1, 2, 3, 8] {
            let mut items: Vec<usize> = (0..20).collect();
            each(threads, &mut items, &mut scratch, |item, _| *item += 100);
            each_beside(threads, &mut items, &mut scratch, |item, _| *item += 100);
            assert!(items.iter().enumerate().all(|(index, item)| *item == index + 200));
        }
        assert!(Arc::ptr_eq(&pool(2).unwrap(), &pool(2).unwrap()));
    }

    #[test]
    fn an_ensemble_inside_an_ensemble_stays_on_its_thread() {
        let stays = |scratch: &mut Scratch| {
            let outer = std::thread::current().id();
            let mut inner = vec![None; 3];
            each(2, &mut inner, scratch, |index, _| *index = Some(std::thread::current().id()));
            each_beside(2, &mut inner, scratch, |index, _| {
                *index = index.filter(|id| *id == std::thread::current().id());
            });
            inner.iter().all(|id| *id == Some(outer))
        };
        let mut items = vec![false; 4];
        each(2, &mut items, &mut Scratch::default(), |item, scratch| *item = stays(scratch));
        assert!(items.iter().all(|item| *item));
        let mut items = vec![false; 4];
        each_beside(2, &mut items, &mut Scratch::default(), |item, scratch| *item = stays(scratch));
        assert!(items.iter().all(|item| *item));
        assert!(is_free());
    }
}
