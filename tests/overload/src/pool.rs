//! Work on several threads, whose results do not depend on their number.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns the result of `work` for each job, in the order of the jobs.
///
/// # Panics
///
/// If `work` panics.
pub fn map<J: Sync, R: Send>(jobs: &[J], threads: usize, work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    let result = work(job);
                    results.lock().expect("no work panics")[index] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no work panics");
    results.into_iter().map(|result| result.expect("each job is done")).collect()
}
