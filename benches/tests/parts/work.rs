//! What a scene sets up before its work.

use std::cell::Cell;

use bulklink_benches::work::enqueue;

#[test]
fn the_queue_was_as_long_before_queueing_is_measured() {
    let made = Cell::new(0);
    let mut before = Vec::new();
    let mut meter = |work: &mut dyn FnMut()| {
        for _ in 0..2 {
            before.push(made.get());
            work();
        }
    };
    enqueue(5, &mut meter, || {
        made.set(made.get() + 1);
        std::future::pending::<()>()
    });
    assert_eq!((before, made.get()), (vec![10, 15], 20));
}
