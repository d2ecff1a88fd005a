//! The signals of a process, as something to poll.

#[cfg(unix)]
mod imp {
    use std::io;
    use std::task::{Context, Poll};

    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// Some signals. From when this is made, they do not have their default effect any more.
    pub(crate) struct Signals(Vec<Signal>);

    impl Signals {
        /// SIGTERM, and SIGINT, which Ctrl-C sends.
        #[cfg(feature = "drain")]
        pub(crate) fn to_end() -> io::Result<Self> {
            Ok(Signals(vec![signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]))
        }

        /// SIGHUP.
        #[cfg(feature = "watch")]
        pub(crate) fn to_reload() -> io::Result<Self> {
            Ok(Signals(vec![signal(SignalKind::hangup())?]))
        }

        pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
            // All of them, so that each wakes the task. Several that have come are one.
            let has_come = self.0.iter_mut().fold(false, |any, signal| signal.poll_recv(context).is_ready() | any);
            if has_come { Poll::Ready(()) } else { Poll::Pending }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::future::Future;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// Ctrl-C, or nothing.
    pub(crate) struct Signals(Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>);

    impl Signals {
        #[cfg(feature = "drain")]
        #[allow(clippy::unnecessary_wraps, reason = "as on unix")]
        pub(crate) fn to_end() -> io::Result<Self> {
            Ok(Signals(Some(Box::pin(tokio::signal::ctrl_c()))))
        }

        #[cfg(feature = "watch")]
        #[allow(clippy::unnecessary_wraps, reason = "as on unix")]
        pub(crate) fn to_reload() -> io::Result<Self> {
            Ok(Signals(None))
        }

        pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
            let Some(ctrl_c) = &mut self.0 else { return Poll::Pending };
            match ctrl_c.as_mut().poll(context) {
                Poll::Ready(Ok(())) => {
                    self.0 = Some(Box::pin(tokio::signal::ctrl_c()));
                    Poll::Ready(())
                }
                // There is no console: no signal comes.
                Poll::Ready(Err(_)) => {
                    self.0 = None;
                    Poll::Pending
                }
                Poll::Pending => Poll::Pending,
            }
        }
    }
}

pub(crate) use imp::Signals;
