//! A timer of tokio that can move to another runtime.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bulklink::runtime::{DriverHome, Instant, Timer, TimerError};
use pin_project_lite::pin_project;
use tokio::runtime::Id;
use tokio::time::Sleep;

use crate::Tokio;
use crate::home::{current, home};

impl Timer for Tokio {
    type Sleep = TokioSleep;

    fn sleep_until(&self, deadline: Instant) -> TokioSleep {
        let sleep = tokio::time::sleep_until(self.to_tokio(deadline));
        TokioSleep { home: current(), deadline, sleep }
    }

    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        home()
    }
}

pin_project! {
    /// A timer on tokio.
    ///
    /// Tokio's own timer belongs to the runtime that made it, and panics if it is polled after that
    /// runtime has ended. This one moves to the runtime that polls it.
    #[derive(Debug)]
    pub struct TokioSleep {
        home: Option<Id>,
        deadline: Instant,
        #[pin]
        sleep: Sleep,
    }
}

impl Future for TokioSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let here = current();
        if here.is_some() && here != *this.home {
            this.sleep.set(tokio::time::sleep_until(Tokio.to_tokio(*this.deadline)));
            *this.home = here;
        }
        this.sleep.poll(context)
    }
}
