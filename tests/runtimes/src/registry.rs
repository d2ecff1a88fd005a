//! A registry, with collective operations that tasks await.

use bulklink::{Builder, Bulkhead, Handle, Registry};

use crate::scene::{play, yield_now};
use crate::{Harness, accounts};

pub(crate) fn a_registry_closes_and_drains_under_load<H: Harness>() {
    const CALLS: usize = 300;
    let builder =
        |label| -> Builder<H::Runtime> { Bulkhead::builder_on(H::runtime(), label).parallelism(4).waiting_room(CALLS) };
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let registry = Registry::new();
            let made = ["payments", "reports"].map(|label| registry.create(builder(label)).expect("a new label"));
            let calls: Vec<_> = (0..CALLS)
                .map(|_| {
                    let bulkhead = made[0].clone();
                    scene.spawn(async move { bulkhead.execute(yield_now()).await })
                })
                .collect();
            for call in calls {
                call.await.expect("room for all to wait");
            }
            let running = made.each_ref().map(|bulkhead| bulkhead.owned().try_slot().expect("free"));
            let (removal, closing) = (registry.clone(), registry.clone());
            let removal = scene.spawn(async move { removal.remove("reports").await });
            let closing = scene.spawn(async move { closing.close_and_wait().await });
            for slot in running {
                yield_now().await;
                drop(slot);
            }
            let reports = removal.await.expect("the bulkhead was in the registry");
            closing.await;
            assert!(reports.status().is_drained());
            assert_eq!(registry.handles().iter().map(Handle::label).collect::<Vec<_>>(), ["payments"]);
            for bulkhead in made {
                accounts::are_settled(&bulkhead.status());
            }
        },
    );
}
