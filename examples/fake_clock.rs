//! A unit test without real waiting: the fake clock advances only when the test moves it.
//!
//! `cargo test --example fake_clock` runs the tests at the end.

use std::error::Error;
use std::time::Duration;

use bulklink::runtime::Runtime;
use bulklink::{Bulkhead, InvalidArgument, Reason};
use bulklink_tokio::Tokio;

/// A part of a service. It is generic over the runtime, so that a test can use another one.
#[derive(Clone)]
struct Weather<R> {
    upstream: Bulkhead<R>,
}

impl<R: Runtime> Weather<R> {
    fn new(runtime: R) -> Result<Self, InvalidArgument> {
        let builder = Bulkhead::builder_on(runtime, "weather").parallelism(1).waiting_room(10);
        Ok(Weather { upstream: builder.wait_limit(Duration::from_secs(30)).build()? })
    }

    /// Returns the forecast, or yesterday's if the wait for the upstream expires.
    async fn forecast(&self, ask: impl Future<Output = String>) -> String {
        match self.upstream.execute(ask).await {
            Ok(forecast) => forecast,
            Err(rejection) if rejection.reason() == Reason::Expired => "as yesterday".into(),
            Err(rejection) => rejection.to_string(),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let weather = Weather::new(Tokio)?;
    println!("{}", weather.forecast(async { "sunny".into() }).await);
    Ok(())
}

#[cfg(test)]
mod tests {
    use bulklink::testing::{Executor, FakeClock};

    use super::*;

    #[test]
    fn after_30_seconds_in_the_queue_the_forecast_is_yesterdays() -> Result<(), Box<dyn Error>> {
        let mut executor = Executor::new(FakeClock::new());
        let weather = Weather::new(executor.clock())?;
        let _upstream_hangs = weather.upstream.owned().try_slot()?;
        let forecast = executor.spawn(async move { weather.forecast(async { "sunny".into() }).await });

        executor.advance(Duration::from_millis(29_999));
        assert!(!forecast.is_finished());
        executor.advance(Duration::from_millis(1));
        assert_eq!(forecast.output().as_deref(), Some("as yesterday"));
        Ok(())
    }
}
