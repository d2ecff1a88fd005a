//! Threads that block in partitions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use bulklink::runtime::Clock;
use bulklink::{ExecuteError, Partitions, Reason, Request, StdClock};

use super::{call, counts, occupancy, tenants};
use crate::ms;

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

#[test]
fn a_thread_waits_in_the_queue_of_its_partition() {
    let mut executor = crate::executor();
    let tenants = tenants(&executor, 2);
    let running = tenants.key("ann").blocking_slot().expect("free");
    let blocked = thread::spawn({
        let tenants = tenants.clone();
        move || tenants.key("ann").blocking_slot()
    });
    until(|| tenants.partition("ann").is_some_and(|ann| ann.status().waiting == 1));
    let task = call(&mut executor, &tenants, "ann");
    assert_eq!(tenants.key("bob").blocking_execute(|| "paid"), Ok("paid"));
    drop(running);
    let slot = blocked.join().expect("no panic").expect("it was first");
    executor.run_until_idle();
    assert!(!task.is_finished());
    drop(slot);
    executor.run_until_idle();
    drop(task.output());
    assert_eq!(occupancy(&tenants.status()), (2, 0, 0));
}

#[test]
fn a_program_without_a_runtime_has_partitions() {
    let builder = Partitions::builder_on(StdClock, "tenants").parallelism(1).waiting_room(1).wait_limit(ms(5));
    let tenants: Partitions<String, StdClock> = builder.max_partitions(1).build().expect("valid");
    let slot = tenants.key("ann").blocking_slot().expect("free");
    assert_eq!(tenants.key("ann").blocking_execute(|| ()).expect_err("late").reason(), Reason::Expired);
    let hasty = Request::new().within(ms(1));
    assert_eq!(tenants.key("ann").with(hasty).blocking_slot().expect_err("late").limit(), Some(ms(1)));
    assert_eq!(
        tenants.key("ann").with(Request::new().now()).blocking_execute(|| ()).expect_err("full").reason(),
        Reason::Saturated
    );
    assert_eq!(tenants.key("bob").blocking_slot().expect_err("no room").reason(), Reason::PartitionLimit);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 1]);
    drop(slot);
    let failed = tenants.key("ann").blocking_execute_fallible(|| Err::<(), _>("no"));
    assert_eq!(failed, Err(ExecuteError::Operation("no")));
    let panicked = catch_unwind(AssertUnwindSafe(|| tenants.key("ann").blocking_execute(|| panic!("on purpose"))));
    assert!(panicked.is_err());
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

#[test]
fn a_thread_waits_until_all_partitions_are_drained() {
    let builder = Partitions::builder_on(StdClock, "tenants").parallelism(1).max_partitions(2);
    let tenants: Partitions<String, StdClock> = builder.build().expect("valid");
    let slot = tenants.key("ann").try_slot().expect("free");
    tenants.close();
    assert!(!tenants.handle().closed().block_for(ms(1)));
    let closing = thread::spawn({
        let tenants = tenants.clone();
        move || tenants.handle().closed().block()
    });
    drop(slot);
    closing.join().expect("no panic");
    assert!(tenants.handle().closed().block_for(ms(1)));
    tenants.handle().closed().block();
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

#[test]
fn a_wait_for_the_end_of_all_partitions_ends_by_their_clock() {
    let executor = crate::executor();
    let tenants = tenants(&executor, 2);
    let running = tenants.key("ann").try_slot().expect("free");
    tenants.close();
    let short = thread::spawn({
        let tenants = tenants.clone();
        move || tenants.handle().closed().block_for(ms(10))
    });
    let clock = executor.clock();
    until(|| clock.next_timer() == Some(clock.now() + ms(10)));
    clock.advance(ms(10));
    assert!(!short.join().expect("no panic"));
    drop(running);
    assert!(tenants.handle().closed().block_for(ms(0)));
}
