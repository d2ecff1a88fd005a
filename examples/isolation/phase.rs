//! One phase: new servers, load on them, one printed row per second, and a check that nothing is
//! still held at the end.

use std::{error::Error, io, time::Duration};

use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::{Instant, sleep, timeout_at},
};

use crate::{
    gateway::Gateway,
    http::{self, Server},
    load::Load,
    options::Options,
    report,
    scenario::{PerRoute, Phase, Route},
    tally::{Record, Sample, Second, Tally},
    upstream,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run(phase: Phase, options: &Options) -> Result<Record, Box<dyn Error>> {
    println!("{}", report::heading(phase, options));
    let start = Instant::now();
    let upstreams = upstreams(phase, start, options).await?;
    let gateway = Gateway::start(phase, &upstreams, options).await?;
    let samples = start_load(phase, start, &gateway, options)?;
    let record = watch(phase, start, samples, &gateway, options).await;
    drained(&gateway).await?;
    Ok(record)
}

async fn upstreams(phase: Phase, start: Instant, options: &Options) -> io::Result<PerRoute<Server>> {
    let stalls_from = phase.stall(options).map(|stall| start + stall);
    Ok(PerRoute {
        healthy: upstream::start(options.work, None).await?,
        stalling: upstream::start(options.work, stalls_from).await?,
    })
}

fn start_load(
    phase: Phase,
    start: Instant,
    gateway: &Gateway,
    options: &Options,
) -> Result<UnboundedReceiver<Sample>, Box<dyn Error>> {
    let (sender, samples) = mpsc::unbounded_channel();
    for route in Route::ALL {
        let load = Load {
            route,
            url: format!("http://{}/{}", gateway.server.address, route.name()).parse()?,
            rate: phase.rate(route, options),
            from: start,
            until: start + phase.length(options),
            timeout: options.client_timeout,
            client: http::client(),
        };
        tokio::spawn(load.run(sender.clone()));
    }
    Ok(samples)
}

/// Collects samples until the last client has its outcome, which ends the channel.
async fn watch(
    phase: Phase,
    start: Instant,
    mut samples: UnboundedReceiver<Sample>,
    gateway: &Gateway,
    options: &Options,
) -> Record {
    let mut record = Record::default();
    for t in 1.. {
        let (tally, is_last) = collect(&mut samples, start + SECOND * t).await;
        println!("{}", report::second(t, &tally, gateway.in_use(), options));
        // After the load has ended only the slowest requests are left, which mean nothing for a
        // second.
        if SECOND * t <= phase.length(options) {
            record.healthy.push(Second::of(t, &tally.healthy));
        }
        record.total.absorb(tally);
        if is_last {
            break;
        }
    }
    record
}

/// Collects what arrives before `until`, and whether the channel has ended.
async fn collect(samples: &mut UnboundedReceiver<Sample>, until: Instant) -> (PerRoute<Tally>, bool) {
    let mut tally = PerRoute::<Tally>::default();
    loop {
        match timeout_at(until, samples.recv()).await {
            Ok(Some(sample)) => tally.of_mut(sample.route).add(sample),
            Ok(None) => return (tally, true),
            Err(_) => return (tally, false),
        }
    }
}

/// Waits until the gateway holds nothing. It notices a disconnected client with some delay; what it
/// still holds after a second has leaked.
async fn drained(gateway: &Gateway) -> Result<(), String> {
    let patience = Instant::now() + SECOND;
    while gateway.held() > 0 {
        if Instant::now() > patience {
            return Err(format!("leaked: {} lines, slots or places held after the last client left", gateway.held()));
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
