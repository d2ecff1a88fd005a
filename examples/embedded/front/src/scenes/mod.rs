//! The scenes, in order. Each begins at a whole tenth of a second, so that none shifts the times of
//! the next.
//!
//! Of tasks that are woken at the same moment, embassy runs the last one first. This is embassy's
//! order, not that of the queue.

mod admit;
mod cancel;
mod close;
mod expire;
mod hand_over;
mod partitions;
mod preempt;
mod queue;

use embassy_executor::{SendSpawner, Spawner};
use embassy_time::{Duration, Ticker, Timer};
use log::info;

use crate::embassy::Bulkhead;

/// Plays all scenes, and prints the peak use of the heap.
pub(crate) async fn play(spawner: Spawner, urgent: SendSpawner) {
    let mut tenth = Ticker::every(Duration::from_millis(100));
    let before = board::heap::used();

    tenth.next().await;
    info!("== admit ==");
    admit::play(spawner).await;

    tenth.next().await;
    info!("== queue ==");
    queue::play(spawner).await;

    tenth.next().await;
    info!("== expire ==");
    expire::play(spawner).await;

    tenth.next().await;
    info!("== hand over ==");
    hand_over::play(spawner).await;

    tenth.next().await;
    info!("== cancel ==");
    cancel::play(spawner).await;

    tenth.next().await;
    info!("== preempt ==");
    preempt::play(urgent).await;

    tenth.next().await;
    info!("== close ==");
    close::play(spawner).await;

    tenth.next().await;
    info!("== partitions ==");
    partitions::play().await;

    assert_eq!(board::heap::used(), before, "all memory was freed");
    info!("heap: at most {} of {} KiB in use", board::heap::peak().div_ceil(1024), board::heap::SIZE / 1024);
}

/// Lets the tasks of a scene end, and checks that every slot was released.
async fn settle(bulkhead: &Bulkhead) {
    Timer::after_millis(50).await;
    let status = bulkhead.status();
    assert_eq!((status.in_use, status.waiting), (0, 0), "no slot is held and no call waits");
    let totals = &status.totals;
    info!(
        "counted: {} admitted, {} of them from the queue; {} rejected, {} cancelled",
        totals.admitted,
        totals.admitted_from_queue,
        totals.rejected(),
        totals.cancelled,
    );
}
