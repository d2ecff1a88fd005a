//! A cluster is one server for the program, whichever node the URL names.

use bulklink_redis::RedisStore;
use bulklink_servers::{Cluster, require};

use crate::world::{Process, name, share};

#[test]
fn shares_of_all_nodes_are_listed_shown_and_resized() {
    let cluster = require!(Cluster::start(3));
    let labels: Vec<_> = (0..12).map(|number| format!("b{number:02}")).collect();
    let on = |(number, node): (u128, &bulklink_servers::Server)| {
        let process = Process::on(&RedisStore::new(&node.url()).unwrap(), number);
        for label in &labels {
            process.state(&name(label), 5, 0, 1);
        }
        process
    };
    let _processes: Vec<_> = (1..).zip(cluster.nodes()).map(on).collect();
    for node in cluster.nodes() {
        let list = share(&node.url(), &["list", "--json"]).json();
        let found: Vec<_> = list["shares"].as_array().unwrap().iter().map(|row| &row["label"]).collect();
        assert_eq!(found, labels.iter().collect::<Vec<_>>());
    }
    let url = cluster.nodes()[0].url();
    for label in &labels {
        assert!(share(&url, &["resize", label, "6"]).text().ends_with(": limit 6, was 5; version 2\n"));
        assert_eq!(share(&url, &["show", label, "--json"]).json()["processes"], 3);
    }
}
