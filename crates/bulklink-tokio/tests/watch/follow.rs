//! A file with sections of bulkheads and of breakers, and with settings that do not change live.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bulklink_breaker::{BreakerConfig, BreakerRegistry};
use bulklink_tokio::Registry;
use bulklink_tokio::config::{self, Config, Watch};
use tokio::time::sleep;

use super::log::{lines, logged};
use super::{BoxError, SECOND, folder, replace};

#[derive(Debug, serde::Deserialize)]
struct Settings {
    port: u16,
    limits: Config,
    circuits: BTreeMap<String, BreakerConfig>,
}

#[derive(Default)]
struct Service {
    limits: Registry,
    circuits: BreakerRegistry,
}

impl Service {
    async fn follow(&self, path: &Path) -> Result<(Arc<Settings>, Watch), BoxError> {
        let file = config::follow(path, |text| toml::from_str::<Settings>(text))?;
        let settings = file.settings();
        let file = file.part("limits", &self.limits, |settings| &settings.limits);
        let file = file.part("circuits", &self.circuits, |settings| &settings.circuits);
        Ok((settings, file.fixed("port", |settings| &settings.port).start().await?))
    }

    /// Returns the limit of the bulkhead, and the failures in a row of the breaker.
    fn now(&self) -> (usize, Option<u32>) {
        let capacity = self.limits.get("search").map_or(0, |search| search.status().limits.capacity);
        (capacity, self.circuits.breaker("search").and_then(|search| search.settings().window_calls()))
    }
}

fn file() -> PathBuf {
    folder().join("a.toml")
}

fn text(port: u16, parallelism: u32, failures: u32) -> String {
    format!(
        "port = {port}\n[limits.bulkheads.search]\nparallelism = {parallelism}\n\
         [circuits.search]\nfailures = {failures}\n"
    )
}

#[tokio::test(start_paused = true)]
async fn a_text_with_a_part_that_is_refused_changes_no_other_part() {
    let (path, service) = (file(), Service::default());
    fs::write(&path, text(80, 12, 3)).unwrap();
    let (settings, watch) = service.follow(&path).await.unwrap();
    assert_eq!((settings.port, service.now()), (80, (12, Some(3))));
    let bulkhead = "limits.bulkheads.search.parallelism must be from 1 to 2147483647, got 0";
    let breaker = "circuits.search.failures must be from 1 to 10000, got 0";
    for (parallelism, failures, refusal) in [
        (13, 0, Some(breaker.to_owned())),
        (0, 4, Some(bulkhead.to_owned())),
        (0, 0, Some(format!("{bulkhead}; {breaker}"))),
    ] {
        replace(&path, &text(80, parallelism, failures));
        sleep(3 * SECOND).await;
        let refusal = refusal.map(|reasons| format!("the configuration was not applied: {reasons}"));
        assert_eq!((service.now(), watch.status().refusal), ((12, Some(3)), refusal));
        assert_eq!(*service.limits.file_status().unwrap(), watch.status(), "for metrics and page");
    }
    replace(&path, &text(80, 13, 4));
    sleep(3 * SECOND).await;
    assert_eq!((service.now(), watch.status().refusal), ((13, Some(4)), None));
    let status = service.limits.file_status().unwrap();
    assert_eq!((&*status.path, status.applied, status.refused), (path.to_str().unwrap(), 2, 3));
}

#[test]
fn the_settings_are_there_before_a_runtime_and_those_of_the_file_since_then_come_next() {
    let (path, service) = (file(), Service::default());
    fs::write(&path, text(80, 12, 3)).unwrap();
    let file = config::follow(&path, |text| toml::from_str::<Settings>(text)).unwrap();
    let settings = file.settings();
    assert_eq!((settings.port, service.now()), (80, (0, None)));
    replace(&path, &text(81, 13, 3));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let file = file.part("limits", &service.limits, |settings| &settings.limits);
        let watch = file.start().await.unwrap();
        assert_eq!((service.now().0, watch.status().applied), (12, 1));
        sleep(3 * SECOND).await;
        assert_eq!((service.now().0, watch.status().applied, settings.port), (13, 2, 80));
    });
    let error = config::follow(path.with_extension("none"), |text| toml::from_str::<Settings>(text)).unwrap_err();
    assert!(error.to_string().starts_with("the settings of ") && error.source().is_some(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_section_of_the_start_must_stay_and_others_come_and_go() {
    let (path, service) = (file(), Service::default());
    let started = text(80, 12, 3);
    fs::write(&path, &started).unwrap();
    let (_, watch) = service.follow(&path).await.unwrap();
    for (section, misspelt, wanted, similar) in [
        ("circuits.search", "circuits.serach", "circuits.search", "circuits.serach"),
        ("bulkheads.search", "bulkheads.serach", "limits.bulkheads.search", "limits.bulkheads.serach"),
    ] {
        replace(&path, &started.replace(section, misspelt));
        sleep(3 * SECOND).await;
        let reason = format!(
            "the configuration was not applied: {wanted} must be there (is it {similar}, which is not required?)"
        );
        assert_eq!((service.now(), watch.status().refusal), ((12, Some(3)), Some(reason)));
    }
    let more = format!("{started}[limits.bulkheads.b]\nparallelism = 1\n[circuits.b]\nfailures = 1\n");
    for (text, members) in [(more, 2), (started, 1)] {
        replace(&path, &text);
        sleep(3 * SECOND).await;
        assert_eq!((service.limits.len(), service.circuits.len()), (members, members));
    }
    assert_eq!(watch.status().refusal, None);
}

#[tokio::test(start_paused = true)]
async fn what_changes_at_a_restart_only_is_logged() {
    lines();
    let (path, service) = (file(), Service::default());
    fs::write(&path, text(80, 12, 3)).unwrap();
    let (_, watch) = service.follow(&path).await.unwrap();
    let started = ["search: added, parallelism 12", "breaker search: added, of_last 3, failures 3"];
    for (port, parallelism, changes) in [
        (80, 12, &started[..]),
        (81, 13, &["search: parallelism 12 -> 13", "port: changes at the next restart"]),
        (80, 12, &["search: parallelism 13 -> 12"]),
    ] {
        replace(&path, &text(port, parallelism, 3));
        sleep(3 * SECOND).await;
        let logged = logged(path.to_str().unwrap());
        for (line, change) in logged[logged.len() - changes.len()..].iter().zip(changes) {
            assert!(line.ends_with(&format!("change={change:?}")), "{line}");
        }
    }
    assert_eq!(watch.status().applied, 3);
}

#[tokio::test(start_paused = true)]
async fn a_service_does_not_start_with_a_part_that_is_refused() {
    let (path, service) = (file(), Service::default());
    for (text, reason) in [
        (text(80, 12, 0), "circuits.search.failures must be from 1 to 10000, got 0"),
        ("port = 80\n".into(), "missing field `limits`"),
    ] {
        fs::write(&path, text).unwrap();
        let refused = service.follow(&path).await.unwrap_err();
        assert!(format!("{refused:?}").contains(reason), "{refused:?}");
        assert_eq!(service.now(), (0, None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fixed_part_that_panics_has_no_other_part_applied() {
    let (path, service) = (file(), Service::default());
    fs::write(&path, text(80, 12, 3)).unwrap();
    let file = config::follow(&path, |text| toml::from_str::<Settings>(text)).unwrap();
    let file = file.part("limits", &service.limits, |settings| &settings.limits);
    let file = file.fixed("circuits.search.failures", |settings| &settings.circuits["search"].failures);
    let watch = file.start().await.unwrap();
    replace(&path, &text(80, 13, 3).replace("circuits.search", "circuits.other"));
    sleep(3 * SECOND).await;
    assert_eq!((service.now().0, watch.status().refused), (12, 1));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_is_the_whole_file_has_no_path_before_its_own() {
    let (path, limits, circuits) = (file(), Registry::new(), BreakerRegistry::new());
    fs::write(&path, "bulkheads.search.parallelism = 0").unwrap();
    let whole = config::follow(&path, |text| toml::from_str::<Config>(text)).unwrap().part("", &limits, |all| all);
    let refused = whole.start().await.unwrap_err();
    assert!(format!("{refused:?}").contains(": bulkheads.search.parallelism must be from 1"), "{refused:?}");
    fs::write(&path, "search.failures = 0").unwrap();
    let read = |text: &str| toml::from_str::<BTreeMap<String, BreakerConfig>>(text);
    let refused = config::follow(&path, read).unwrap().part("", &circuits, |all| all).start().await.unwrap_err();
    assert!(format!("{refused:?}").contains(": search.failures must be from 1"), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn each_registry_keeps_the_fate_of_the_file_also_when_it_is_as_before() {
    let (path, one, other) = (file(), Registry::new(), Registry::new());
    fs::write(&path, text(80, 12, 3)).unwrap();
    let file = config::follow(&path, |text| toml::from_str::<Settings>(text)).unwrap();
    let file = file.part("limits", &one, |settings| &settings.limits);
    let watch = file.part("limits", &other, |settings| &settings.limits).start().await.unwrap();
    // Of a file that is missing, the text that is applied comes back, and is not applied again.
    for (is_there, refused) in [(true, 0), (false, 1), (true, 1)] {
        if is_there {
            fs::write(&path, text(80, 12, 3)).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        sleep(3 * SECOND).await;
        let status = watch.status();
        assert_eq!((status.applied, status.refused, status.refusal.is_none()), (1, refused, is_there));
        for registry in [&one, &other] {
            assert_eq!(*registry.file_status().unwrap(), status);
        }
    }
}
