//! A log in QEMU's output, each line with the seconds since the start.

use embassy_time::Instant;
use log::{LevelFilter, Log, Metadata, Record};

struct Logger;

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let millis = Instant::now().as_millis();
        board::say!("{}.{:03}  {}", millis / 1000, millis % 1000, record.args());
    }

    fn flush(&self) {}
}

/// Enables the output of `log::info!` and the other log macros.
pub(crate) fn start() {
    log::set_logger(&Logger).expect("the first logger");
    log::set_max_level(LevelFilter::Info);
}
