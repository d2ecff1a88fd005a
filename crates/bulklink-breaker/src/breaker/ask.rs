//! How a call asks other processes, where only these can let it through.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bulklink::plumbing::block_on;

use super::OpenCircuit;
use super::call::{Call, Source};
use super::core::Core;
use crate::Instant;
use crate::circuit::Pass;
use crate::plumbing::{Access, Asking};

/// A call that asks other processes.
pub(crate) type AskPass<'a> = Pin<Box<dyn Future<Output = Result<(Pass, Instant), OpenCircuit>> + Send + 'a>>;

impl Core {
    /// As `admit`, but asks other processes where only these can let the call through.
    pub(crate) async fn admit_or_ask(&self) -> Result<(Pass, Instant), OpenCircuit> {
        if let Some(admitted) = self.admit_if_closed() {
            return Ok(admitted);
        }
        match self.ask() {
            Some(asking) => asking.await,
            None => self.admit(),
        }
    }

    /// As `admit_or_ask`, for a call that polls its operation.
    pub(crate) async fn ask_operation(&self) -> Result<Call<'_>, OpenCircuit> {
        let (pass, began) = self.admit_or_ask().await?;
        Ok(Call::new(Source::Borrowed(self), pass, began))
    }

    /// As `admit_or_ask`, but blocks the thread.
    #[inline]
    pub(crate) fn blocking_admit(&self) -> Result<(Pass, Instant), OpenCircuit> {
        if let Some(admitted) = self.admit_if_closed() {
            return Ok(admitted);
        }
        match self.ask() {
            Some(asking) => block_on(asking),
            None => self.admit(),
        }
    }

    /// Asks other processes, if only these can let a call through that the circuit, which is not
    /// closed, has not. `None` if `admit` decides.
    #[inline]
    pub(super) fn ask(&self) -> Option<AskPass<'_>> {
        if self.peer.is_none() { None } else { self.ask_peer() }
    }

    // Not inlined, so that a rejection by a circuit that is not shared does not pay for it.
    #[cold]
    #[inline(never)]
    fn ask_peer(&self) -> Option<AskPass<'_>> {
        let peer = self.peer.as_ref()?;
        let now = self.now();
        let locked = self.lock();
        let is_asked = peer.access(&locked.circuit, now) == Access::Ask;
        let asking = is_asked.then(|| Arc::clone(peer).ask())?;
        Some(Box::pin(self.finish_to_ask(asking)))
    }

    /// Without an answer, the circuit decides by itself.
    async fn finish_to_ask(&self, asking: Asking) -> Result<(Pass, Instant), OpenCircuit> {
        let Some(answer) = asking.await else { return self.admit() };
        let now = self.now();
        let pass = answer.map_err(|refusal| self.refuse(now, refusal))?;
        self.lock().totals.probes += 1;
        Ok((pass, now))
    }
}
