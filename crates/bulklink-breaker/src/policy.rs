//! The needs of a layer of `bulklink-tower` from a guard or a breaker. Not for users.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::thread;
use std::time::Duration;

use bulklink::runtime::Runtime;
use bulklink::{OwnedSlot, Request};

use crate::{Breaker, Call, Guard, GuardError, TimedOut};

/// A guard or a breaker, as a layer sees it.
pub trait Policy: Clone + Send + Sync + 'static {
    /// The type of its classifier.
    type Classifier;

    /// Returns the classifier.
    fn classifier(&self) -> &Self::Classifier;

    /// Returns the name.
    fn label(&self) -> &str;

    /// Waits until a call is let through, with a deadline after this time. Its operation begins
    /// then.
    fn admit(&self, time: Option<Duration>) -> impl Future<Output = Result<Admitted, GuardError<Infallible>>> + Send;

    /// Polls the operation of a call until it ends, or the run limit has passed.
    fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> impl Future<Output = Result<F::Output, TimedOut>> + Send;

    /// Returns in what time there may be a slot, if that is known.
    fn estimated_wait(&self) -> Option<Duration>;
}

/// A call that was let through.
#[derive(Debug)]
pub struct Admitted {
    /// Counts its outcome.
    pub call: Call<'static>,
    /// `None` without a bulkhead.
    pub slot: Option<OwnedSlot>,
}

/// A call after the success of its operation, with an answer that is on its way.
///
/// It is slow if its operation was, however long the reader takes.
///
/// If it is dropped before the answer has ended, it counts as the operation has, unless the thread
/// is panicking: servers drop a body that they have sent, without asking for its end.
#[derive(Debug)]
pub struct Unfinished(Option<Call<'static>>);

impl Unfinished {
    /// Makes it of a call that has not ended.
    #[must_use]
    pub fn new(call: Call<'static>) -> Self {
        Unfinished(Some(call.answered()))
    }

    /// The answer has ended, or has failed.
    pub fn end(mut self, has_failed: bool) {
        match self.0.take() {
            Some(call) if has_failed => call.fail(),
            Some(call) => call.succeed(),
            None => {}
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        match self.0.take() {
            Some(call) if !thread::panicking() => call.succeed(),
            dropped => drop(dropped),
        }
    }
}

impl<R, K> Policy for Guard<R, K>
where
    R: Runtime<Sleep: Send, Instant: Send>,
    K: Clone + Send + Sync + 'static,
{
    type Classifier = K;

    fn classifier(&self) -> &K {
        self.breaker().classifier()
    }

    fn label(&self) -> &str {
        self.bulkhead().label()
    }

    async fn admit(&self, time: Option<Duration>) -> Result<Admitted, GuardError<Infallible>> {
        let request = time.map_or_else(Request::new, |time| Request::new().deadline_after(time));
        let (call, slot) = self.admit_owned(request).await?;
        Ok(Admitted { call, slot: Some(slot.begin()) })
    }

    async fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> Result<F::Output, TimedOut> {
        self.run_limited(call, operation).await
    }

    fn estimated_wait(&self) -> Option<Duration> {
        self.bulkhead().estimated_wait(1)
    }
}

impl<K: Clone + Send + Sync + 'static> Policy for Breaker<K> {
    type Classifier = K;

    fn classifier(&self) -> &K {
        self.classifier()
    }

    fn label(&self) -> &str {
        self.label()
    }

    async fn admit(&self, _: Option<Duration>) -> Result<Admitted, GuardError<Infallible>> {
        Ok(Admitted { call: self.ask_owned_operation().await?, slot: None })
    }

    async fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> Result<F::Output, TimedOut> {
        Ok(call.run(operation).await)
    }

    fn estimated_wait(&self) -> Option<Duration> {
        None
    }
}
