//! The async front: partitions by key, on a runtime with virtual time.

use bulklink::OwnedSlot;
use bulklink::{Partitions, Request};
use bulklink_core::{Instant, InvalidArgument};
use serde_json::{Map, Value};

use crate::calls::Calls;
use crate::subject::{self, Done, Subject};
use crate::trace::{Config, Enter};
use crate::words::{self, Kind};
use crate::world::World;

pub struct PartitionsFront<W: World> {
    calls: Calls<OwnedSlot, W>,
    partitions: Partitions<String, W::Runtime>,
}

impl<W: World> Subject for PartitionsFront<W> {
    fn new(config: &Config) -> Result<Self, InvalidArgument> {
        let (calls, each, limits) = (Calls::<_, W>::new(), subject::limits(config), subject::partition_limits(config));
        let builder = Partitions::builder_on(calls.world.runtime(), "trace").parallelism(each.capacity);
        let mut builder = builder.waiting_room(each.waiting_room).max_partitions(limits.max_partitions);
        if let Some(limit) = subject::meant(&each) {
            builder = builder.wait_limit(limit);
        }
        if let Some(timeout) = limits.idle_timeout {
            builder = builder.idle_timeout(timeout);
        }
        Ok(PartitionsFront { calls, partitions: builder.build()? })
    }

    fn pass_time(&mut self, to: Instant) {
        self.calls.pass_time(to);
    }

    fn enter(&mut self, enter: &Enter, _now: Instant) -> Done {
        let request = subject::ask(enter, Request::new(), Request::now, Request::within, |request, deadline| {
            request.before(self.calls.world.instant(deadline))
        });
        self.calls.enter(enter.id, || self.partitions.key(enter.partition.as_str()).with(request).slot())
    }

    fn release(&mut self, id: usize) -> Done {
        self.calls.release(id)
    }

    fn cancel(&mut self, id: usize) -> Done {
        self.calls.cancel(id)
    }

    fn close(&mut self) {
        let partitions = &self.partitions;
        self.calls.act(|| partitions.close());
    }

    fn cleanup_idle(&mut self) -> Done<usize> {
        let partitions = &self.partitions;
        Ok(self.calls.act(|| partitions.handle().cleanup_idle()))
    }

    fn discard(&mut self, partition: &str) -> Done<bool> {
        let partitions = &self.partitions;
        Ok(self.calls.act(|| partitions.discard(partition)))
    }

    fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        self.calls.outcomes()
    }

    fn status(&mut self, _kind: Kind) -> Map<String, Value> {
        let status = self.partitions.status();
        words::partitions_status(&status, &status.each)
    }
}
