//! A page of axum that shows bulkheads, circuit breakers, shares of fleets and their findings:
//! [`router`].

#[cfg(feature = "breaker")]
mod breaker;
mod html;
mod json;
mod origin;
mod query;
mod recent;
mod row;
#[cfg(feature = "fleet")]
mod share;
mod text;
mod worst;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bulklink::{Handle, Registry, partitions};
use tokio::time::Instant;

use self::origin::Origin;
use self::query::{Format, Query};
use self::recent::Recent;
use self::row::{Earlier, Row};
use self::worst::Worst;

/// How many bulkheads are read before other tasks of the thread get a turn.
const BATCH: usize = 64;

/// Makes a router with the page of all bulkheads and partitions of a registry, at
/// `/debug/bulkheads`. It shows those that are registered when it is asked for.
///
/// The page changes nothing. It shows labels, limits, figures and findings, and no key of a
/// partition unless the program [shows keys](bulklink::partitions::Builder::show_keys): then the
/// ten with the most units in use, calls waiting and recent rejections. It reveals how large the
/// service is, and of a file of settings that is refused the reasons, which may quote it: mount it
/// where only operators do. Nothing is served unless it is mounted. Add it after the layers, which
/// would limit it, too. No cache may store it.
///
/// # Formats
///
/// Each begins with the time, the process and the time since the router was made; then comes the
/// state of the file of settings, if the registry [follows](Registry::file_status) one.
///
/// Text by default. JSON with `?format=json`, or if the header `Accept` prefers `application/json`
/// to text; durations are then in seconds. For browsers, the text as HTML, with `?format=html` or
/// if `Accept` names `text/html`: it fits narrow screens, and looks again every ten seconds.
///
/// # Order
///
/// The worst come first, of all kinds: by severity, then by the share of calls that were rejected
/// lately, then by the utilisation (of partitions: how many are in use, of those that may be kept),
/// by the share of the waiting room that is taken, and then by label. The severity is that of the
/// [capacity report](bulklink::Status::capacity_report_since) about the present and the recent
/// past; closed is critical, because all calls are rejected, and paused a warning at least. A
/// breaker that is open is critical, too. It is a warning that one is half-open, that its store is
/// out of reach, or that some circuits of guards by key are open. A share that its fleet refuses is
/// critical; all else that is wrong with one is a warning.
///
/// There are at most `?limit=` of them: 100 by default, and from 1 to 1,000. A last line has the
/// number of the rest. Other tasks run in between. Reading takes the lock of each bulkhead, and of
/// each partition, for a moment; partitions are read twice, and once more if keys are shown.
///
/// # The recent past
///
/// Rates, their findings and the order count the events since an earlier look at the page,
/// by any viewer: one that is 10 to 30 seconds old, or a younger one if there is none. Nothing that
/// was over 30 seconds ago makes a bulkhead look bad. The first page, and the first after 30
/// seconds in which none was asked for, has no rates, and shows only this moment; look again.
/// Counters are totals since the bulkhead was built.
///
/// No task and no call takes part in that: the figures are kept by the router from one look to the
/// next, about a kilobyte for each bulkhead that is registered, however often the page is asked
/// for. A page itself has no more than `limit` bulkheads in memory, with labels and keys of at
/// most 120 bytes.
///
/// A parameter that is unknown or out of its range is answered with 400 and a problem (RFC 9457).
///
/// # Examples
///
/// ```
/// use axum::{Router, routing::get};
/// use bulklink_tokio::{Bulkhead, Registry};
/// use bulklink_tower::{BulkheadLayer, page};
///
/// let registry = Registry::new();
/// let orders = registry.create(Bulkhead::builder("orders").parallelism(16))?;
///
/// let app: Router = Router::new()
///     .route("/orders", get(async || "42 orders"))
///     .route_layer(BulkheadLayer::new(&orders).respond())
///     .merge(page::router(&registry));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn router<S>(registry: &Registry) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    Page::new(registry).router()
}

/// The page of a registry, with single bulkheads and partitions that are in none, with the feature
/// `breaker` with circuit breakers, and with the feature `fleet` with shares of fleets; see
/// [`router`].
///
/// ```
/// # use bulklink_tokio::{Bulkhead, Registry};
/// use bulklink_tower::page::Page;
///
/// let connections = Bulkhead::builder("connections").parallelism(1_000).build()?;
/// let page = Page::new(&Registry::new()).bulkhead(&connections);
/// let app: axum::Router = page.router();
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a page is served by its router"]
pub struct Page {
    registry: Registry,
    bulkheads: Vec<Handle>,
    partitions: Vec<partitions::Handle>,
    #[cfg(feature = "breaker")]
    breakers: Vec<breaker::Source>,
    #[cfg(feature = "fleet")]
    fleets: Vec<share::Source>,
}

impl Page {
    /// Creates the page of all that a registry has when the page is asked for.
    pub fn new(registry: &Registry) -> Self {
        Page {
            registry: registry.clone(),
            bulkheads: Vec::new(),
            partitions: Vec::new(),
            #[cfg(feature = "breaker")]
            breakers: Vec::new(),
            #[cfg(feature = "fleet")]
            fleets: Vec::new(),
        }
    }

    /// Shows a bulkhead that is not in the registry, too. One that is would be shown twice.
    pub fn bulkhead(mut self, bulkhead: &impl AsRef<Handle>) -> Self {
        let bulkhead = bulkhead.as_ref();
        self.bulkheads.push(bulkhead.clone());
        self
    }

    /// Shows partitions that are not in the registry, too.
    pub fn partitions(mut self, partitions: &partitions::Handle) -> Self {
        self.partitions.push(partitions.clone());
        self
    }

    /// Shows the circuit breakers of a registry of guards and breakers: those that it has when the
    /// page is asked for. Each has its state, since when it is in it and was not closed, the calls
    /// of the window that has opened it, and the time until a probe. Guards by key have the
    /// numbers of their circuits, and the ten worst keys if the program [shows
    /// keys](bulklink_breaker::GuardsBuilder::show_keys). The bulkheads of the guards are shown if
    /// they are in the page's own registry.
    ///
    /// Breakers are rows between the bulkheads, and in JSON a list of their own, `breakers`.
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, Registry};
    /// use bulklink_breaker::{BreakerRegistry, Guard};
    /// use bulklink_tower::page::Page;
    ///
    /// let (limits, breakers) = (Registry::new(), BreakerRegistry::new());
    /// let search = limits.create(Bulkhead::builder("search").parallelism(10))?;
    /// breakers.add(&Guard::builder(&search).build()?)?;
    /// let app: axum::Router = Page::new(&limits).breakers(&breakers).router();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "breaker")]
    pub fn breakers(mut self, registry: &bulklink_breaker::BreakerRegistry) -> Self {
        self.breakers.push(breaker::Source::Registry(registry.clone()));
        self
    }

    /// Shows a circuit breaker that is in no registry.
    #[cfg(feature = "breaker")]
    pub fn breaker<K>(mut self, breaker: &bulklink_breaker::Breaker<K>) -> Self {
        self.breakers.push(breaker::Source::One(breaker.classified(bulklink_breaker::ErrorsFail)));
        self
    }

    /// Shows the shares of this process in the limits of a fleet: those of bulkheads that it has
    /// when the page is asked for, and none of a key of partitions. Each has its units and the
    /// limit, the number of processes, and its state: *joined*; *unavailable*, with the errors of
    /// the store; *recovering*, with the time until units are granted again; and *refused* or
    /// *declined*, with the values in which processes differ. It keeps the fleet, as a clone does.
    ///
    /// Shares are rows between the bulkheads, and in JSON a list of their own, `shares`.
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, Registry, Tokio};
    /// use bulklink_fleet::{Fleet, MemoryStore};
    /// use bulklink_tower::page::Page;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limits = Registry::new();
    /// let search = Bulkhead::builder("search").parallelism(10).waiting_room(9);
    /// let search = limits.create(search)?;
    /// let fleet = Fleet::builder(MemoryStore::new(Tokio), Tokio).namespace("prod").build()?;
    /// fleet.share(&search).limit(20).connect().await?;
    /// let app: axum::Router = Page::new(&limits).fleet(&fleet).router();
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "fleet")]
    pub fn fleet<R>(mut self, fleet: &bulklink_fleet::Fleet<R>) -> Self
    where
        R: bulklink::runtime::Clock + Clone + Send + Sync + 'static,
    {
        self.fleets.push(share::Source::of(fleet));
        self
    }

    /// Makes the router, as [`router`] does.
    pub fn router<S>(self) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let earlier = Earlier {
            bulkheads: Recent::new(),
            partitions: Recent::new(),
            #[cfg(feature = "breaker")]
            breakers: Recent::new(),
        };
        let page = Arc::new((self, earlier, Origin::new()));
        Router::new().route(
            "/debug/bulkheads",
            get(move |RawQuery(query): RawQuery, headers: HeaderMap| {
                let page = Arc::clone(&page);
                async move {
                    let (page, earlier, origin) = &*page;
                    page.answer(earlier, origin, query.as_deref().unwrap_or_default(), &headers).await
                }
            }),
        )
    }

    async fn answer(&self, earlier: &Earlier, origin: &Origin, query: &str, headers: &HeaderMap) -> Response {
        let Query { limit, format } = match Query::parse(query, headers) {
            Ok(query) => query,
            Err(detail) => return respond(StatusCode::BAD_REQUEST, PROBLEM, json::problem(&detail)),
        };
        let (head, worst) = (origin.head(&self.registry), self.read(earlier, limit).await);
        match format {
            Format::Html => respond(StatusCode::OK, HTML, html::page(&text::page(&head, &worst.into_page()))),
            Format::Text => respond(StatusCode::OK, TEXT, text::page(&head, &worst.into_page())),
            Format::Json => respond(StatusCode::OK, JSON, json::page(&head, &worst.into_page())),
        }
    }

    async fn read(&self, earlier: &Earlier, limit: usize) -> Worst {
        let (now, mut worst) = (Instant::now(), Worst::new(limit));
        for (place, bulkhead) in self.registry.handles().iter().chain(&self.bulkheads).enumerate() {
            worst.add(Row::of_bulkhead(bulkhead, &earlier.bulkheads, now));
            if place % BATCH == BATCH - 1 {
                yield_now().await;
            }
        }
        for partitions in self.registry.partition_handles().iter().chain(&self.partitions) {
            worst.add(Row::of_partitions(partitions, &earlier.partitions, now));
            yield_now().await;
        }
        #[cfg(feature = "breaker")]
        self.read_breakers(&earlier.breakers, now, &mut worst).await;
        #[cfg(feature = "fleet")]
        for fleet in &self.fleets {
            fleet.rows().for_each(|row| worst.add_share(row));
            yield_now().await;
        }
        earlier.bulkheads.forget_before(now);
        earlier.partitions.forget_before(now);
        worst
    }

    #[cfg(feature = "breaker")]
    async fn read_breakers(&self, earlier: &Recent<bulklink_breaker::BreakerTotals>, now: Instant, worst: &mut Worst) {
        for source in &self.breakers {
            for status in source.status() {
                worst.add_breaker(breaker::BreakerRow::new(status, earlier, now));
            }
            yield_now().await;
        }
        earlier.forget_before(now);
    }
}

/// Lets other tasks run.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

fn respond(status: StatusCode, content_type: HeaderValue, body: String) -> Response {
    let fixed = |name: HeaderName, value| (name, HeaderValue::from_static(value));
    let headers = [
        (header::CONTENT_TYPE, content_type),
        fixed(header::CACHE_CONTROL, "no-store"),
        fixed(header::VARY, "accept"),
        // No browser may take a label for a part of a page, or run one.
        fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (status, headers, body).into_response()
}
