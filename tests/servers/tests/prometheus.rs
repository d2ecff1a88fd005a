//! A private Prometheus scrapes a target of the test, and its tool judges metrics.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use bulklink_servers::{Prometheus, Promtool, Sample, require};

/// Answers each request with these metrics, until the test process ends.
fn target(text: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            // The head ends with an empty line.
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let length = text.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{text}");
        }
    });
    address
}

#[test]
fn a_private_prometheus_scrapes_and_answers_and_leaves_nothing_behind() {
    let address = target("# TYPE eggs gauge\neggs{colour=\"white \\\"x\\\"\"} 12.5\neggs{colour=\"brown\"} 3\n");
    let server = require!(Prometheus::scraping(&[address]));
    let eggs = server.wait_for("eggs > 4", |samples| !samples.is_empty());
    assert_eq!((eggs.len(), eggs[0].value.to_bits(), eggs[0].label("job")), (1, 12.5_f64.to_bits(), "bulklink"));
    assert_eq!((eggs[0].label("colour"), eggs[0].label("instance")), ("white \"x\"", &*address.to_string()));
    assert_eq!(server.query("scalar(sum(eggs))"), [Sample { labels: vec![], value: 15.5 }]);
    assert_eq!(server.get("/api/v1/targets")["data"]["activeTargets"][0]["health"], "up");

    let (port, folder) = (server.port(), server.folder().to_owned());
    drop(server);
    assert!(!folder.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "it has ended");
}

#[test]
fn two_servers_do_not_meet() {
    let [one, other] = [1, 2].map(|_| Prometheus::scraping(&[]));
    let (one, other) = (require!(one), require!(other));
    assert_ne!((one.port(), one.folder()), (other.port(), other.folder()));
    assert_eq!(other.query("1 + 1"), [Sample { labels: vec![], value: 2.0 }]);
}

#[test]
fn the_tool_tells_good_metrics_from_bad_ones() {
    let tool = require!(Promtool::find());
    let good = "# HELP eggs_total Eggs.\n# TYPE eggs_total counter\neggs_total 1\n";
    assert_eq!(tool.run(&["check", "metrics"], good), Ok(String::new()));
    let bad = tool.run(&["check", "metrics"], &good.replace("eggs_total", "eggs")).unwrap_err();
    assert!(bad.contains("_total"), "{bad}");
}
