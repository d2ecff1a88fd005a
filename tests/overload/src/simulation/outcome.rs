//! What became of the calls of a run.

/// The result of a run. Calls are counted that were first wanted since the plant is warm; a call
/// that is tried again counts again.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Calls that came, without those that came again.
    pub offered: u64,
    /// Calls that came again.
    pub retried: u64,
    /// Calls that succeeded before their deadline.
    pub good: u64,
    /// Calls that succeeded too late.
    pub late: u64,
    /// Calls that were admitted and failed.
    pub failed: u64,
    /// Calls that were rejected, immediately or while waiting.
    pub refused: u64,
    /// Calls that wait or are in flight at the end.
    pub unfinished: u64,
    /// The time from wish to success of each good call, in seconds.
    pub latencies: Vec<f32>,
    /// The calls that succeeded before their deadline in each second, counted or not.
    pub by_second: Vec<u32>,
    /// The limit every tenth of a second.
    pub limits: Vec<(f64, u32)>,
    /// The mean of the limits since the plant is warm.
    pub mean_limit: f64,
}

impl Run {
    pub(super) fn new(end: f64) -> Self {
        Run { by_second: vec![0; end as usize + 2], ..Run::default() }
    }

    pub(super) fn note(&mut self, now: f64, limit: u32) {
        self.limits.push((now, limit));
    }

    pub(super) fn ended(&mut self, now: f64, age: f64, is_counted: bool, has_failed: bool, in_time: bool) {
        if let Some(second) = self.by_second.get_mut(now as usize).filter(|_| in_time) {
            *second += 1;
        }
        if !is_counted {
            return;
        }
        match (has_failed, in_time) {
            (true, _) => self.failed += 1,
            (false, false) => self.late += 1,
            (false, true) => {
                self.good += 1;
                self.latencies.push(age as f32);
            }
        }
    }

    pub(super) fn close(self, unfinished: u64, warm: f64) -> Self {
        let mean_limit = self.mean_between(warm, f64::INFINITY);
        Run { unfinished, mean_limit, ..self }
    }

    /// Returns the mean of the limits in a time; not a number if it has none.
    pub fn mean_between(&self, from: f64, to: f64) -> f64 {
        let limits = self.limits.iter().filter(|(time, _)| (from..to).contains(time));
        let (sum, count) = limits.fold((0.0, 0.0), |(sum, count), (_, limit)| (sum + f64::from(*limit), count + 1.0));
        sum / count
    }

    /// Returns the calls each second that succeed before their deadline in a time, of whole
    /// seconds.
    pub fn good_between(&self, from: f64, to: f64) -> f64 {
        let seconds = self.by_second.get(from as usize..to.ceil() as usize).unwrap_or_default();
        seconds.iter().map(|calls| f64::from(*calls)).sum::<f64>() / seconds.len() as f64
    }

    /// Returns a quantile of the latencies; not a number if there are none.
    pub fn latency(&self, quantile: f64) -> f64 {
        if self.latencies.is_empty() {
            return f64::NAN;
        }
        let mut latencies = self.latencies.clone();
        let index = ((latencies.len() - 1) as f64 * quantile) as usize;
        f64::from(*latencies.select_nth_unstable_by(index, f32::total_cmp).1)
    }

    /// Returns the share of the offered calls that was rejected.
    pub fn refused_share(&self) -> f64 {
        self.refused as f64 / self.offered.max(1) as f64
    }
}
