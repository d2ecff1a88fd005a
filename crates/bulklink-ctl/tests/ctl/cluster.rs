//! A cluster is one server for the program, whichever node the URL names.

use bulklink_servers::{Cluster, require};

use crate::world::{Process, ctl, name};

#[test]
fn bulkheads_of_all_nodes_are_listed_shown_and_resized() {
    let cluster = require!(Cluster::start(3));
    let labels: Vec<_> = (0..12).map(|number| format!("b{number:02}")).collect();
    for (number, node) in (1..).zip(cluster.nodes()) {
        let process = Process::new(&node.url(), number);
        for label in &labels {
            process.open(&name(label), 5);
        }
    }
    for node in cluster.nodes() {
        let list = ctl(&node.url(), &["list", "--json"]).json();
        let found: Vec<_> = list["bulkheads"].as_array().unwrap().iter().map(|row| &row["label"]).collect();
        assert_eq!(found, labels.iter().collect::<Vec<_>>());
    }
    let url = cluster.nodes()[0].url();
    for label in &labels {
        assert!(ctl(&url, &["resize", label, "6"]).text().contains(": limit 6, was 5; version 2;"));
        assert_eq!(ctl(&url, &["show", label, "--json"]).json()["processes"], 3);
    }
}
