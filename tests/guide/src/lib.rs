//! The examples of the guide and of the READMEs, which are compiled and run as doctests. They are
//! here, as a published crate has neither the pages nor all of their dependencies.

#![cfg(doctest)]

#[doc = include_str!("../../../README.md")]
struct Readme;

mod guide {
    #[doc = include_str!("../../../docs/guide/adaptive-limits.md")]
    struct AdaptiveLimits;
    #[doc = include_str!("../../../docs/guide/axum.md")]
    struct Axum;
    #[doc = include_str!("../../../docs/guide/choosing-numbers.md")]
    struct ChoosingNumbers;
    #[doc = include_str!("../../../docs/guide/circuit-breaker.md")]
    struct CircuitBreaker;
    #[doc = include_str!("../../../docs/guide/configuration.md")]
    struct Configuration;
    #[doc = include_str!("../../../docs/guide/deadlines.md")]
    struct Deadlines;
    #[doc = include_str!("../../../docs/guide/fair-shares.md")]
    struct FairShares;
    #[doc = include_str!("../../../docs/guide/fleet.md")]
    struct Fleet;
    #[doc = include_str!("../../../docs/guide/from-semaphore.md")]
    struct FromSemaphore;
    #[doc = include_str!("../../../docs/guide/llm-gateway.md")]
    struct LlmGateway;
    #[doc = include_str!("../../../docs/guide/metrics.md")]
    struct Metrics;
    #[doc = include_str!("../../../docs/guide/rejections-to-http.md")]
    struct RejectionsToHttp;
    #[doc = include_str!("../../../docs/guide/response-bodies.md")]
    struct ResponseBodies;
    #[doc = include_str!("../../../docs/guide/tracing.md")]
    struct Tracing;
    #[doc = include_str!("../../../docs/guide/whole-service.md")]
    struct WholeService;
}

mod readmes {
    #[doc = include_str!("../../../crates/bulklink/README.md")]
    struct Bulklink;
    #[doc = include_str!("../../../crates/bulklink-async-std/README.md")]
    struct BulklinkAsyncStd;
    #[doc = include_str!("../../../crates/bulklink-breaker/README.md")]
    struct BulklinkBreaker;
    #[doc = include_str!("../../../crates/bulklink-core/README.md")]
    struct BulklinkCore;
    #[doc = include_str!("../../../crates/bulklink-fleet/README.md")]
    struct BulklinkFleet;
    #[doc = include_str!("../../../crates/bulklink-metrics/README.md")]
    struct BulklinkMetrics;
    #[doc = include_str!("../../../crates/bulklink-plan/README.md")]
    struct BulklinkPlan;
    #[doc = include_str!("../../../crates/bulklink-postgres/README.md")]
    struct BulklinkPostgres;
    #[doc = include_str!("../../../crates/bulklink-redis/README.md")]
    struct BulklinkRedis;
    #[doc = include_str!("../../../crates/bulklink-smol/README.md")]
    struct BulklinkSmol;
    #[doc = include_str!("../../../crates/bulklink-tokio/README.md")]
    struct BulklinkTokio;
    #[doc = include_str!("../../../crates/bulklink-tower/README.md")]
    struct BulklinkTower;
}
