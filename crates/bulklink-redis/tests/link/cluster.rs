//! Names on several nodes of a cluster.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use bulklink_fleet::Link;
use bulklink_fleet::share::Notice;
use bulklink_redis::{LeaseStore, Name, Namespace, RedisStore, StoreError};
use bulklink_servers::{Cluster, Server, require};

use crate::world::{PATIENCE, Told, at, name, on_both};

on_both! {
    names_live_on_all_nodes
    a_name_that_moves_ends_the_link
    a_dead_node_leaves_the_other_names
    a_replica_leads_to_its_primary
}

/// A name on each node.
fn names(cluster: &Cluster) -> Vec<Name> {
    let on = |node| {
        let names = (0..).map(|number| name(&format!("n{number}")));
        names.into_iter().find(|name| cluster.owner_of(&format!("bl:{{{name}}}:S")) == node).unwrap()
    };
    (0..cluster.nodes().len()).map(on).collect()
}

async fn names_live_on_all_nodes() {
    let cluster = require!(Cluster::start(3));
    let names = names(&cluster);
    // By way of each node.
    for (number, node) in cluster.nodes().iter().enumerate() {
        let number = number as u128;
        let (first, second) = (at(&node.url(), 2 * number + 1).await, at(&node.url(), 2 * number + 2).await);
        for (name, place) in names.iter().zip(cluster.nodes()) {
            let known = first.link.listen(name).await.unwrap();
            let id = place.info("run_id").unwrap();
            assert_eq!(format!("{:016x}", u64::from(known.run.unwrap())), id[..16]);
            assert_eq!(first.state(name, 0, 10).await, Ok(10));
            // Without listening, too.
            assert_eq!(second.granted(name).await, 10);
            assert_eq!(second.join(name, 4).await, Ok(0));
            assert_eq!(first.state(name, 6, 6).await, Ok(6));
            second.ears.wait(|told| matches!(told, Told::Notice(about, Notice::Granted(_)) if about == name));
            assert_eq!((first.state(name, 0, 0).await, second.state(name, 0, 0).await), (Ok(0), Ok(0)));
            assert_eq!(second.granted(name).await, 0);
            assert_eq!(second.link.unlisten(name).await, Ok(()));
        }
        assert_eq!(second.ears.grants().len(), 3);
        let store = RedisStore::new(&node.url()).unwrap();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(store.names(Some(&Namespace::new("test").unwrap())).await, Ok(sorted));
        // One connection to each node, and no more.
        for node in cluster.nodes() {
            let clients = node.call(&["CLIENT", "LIST"]).text();
            let name = format!("name=process_{} ", 2 * number + 1);
            assert_eq!(clients.matches(&name).count(), 1, "{clients}");
        }
    }
}

async fn a_name_that_moves_ends_the_link() {
    let cluster = require!(Cluster::start(3));
    let names = names(&cluster);
    let process = at(&cluster.nodes()[0].url(), 1).await;
    let silent = at(&cluster.nodes()[0].url(), 2).await;
    for name in &names {
        process.join(name, 5).await.unwrap();
    }
    let run = process.link.listen(&names[1]).await.unwrap().run;
    assert_eq!(silent.granted(&names[1]).await, 5);
    // Statements are on the way while the server reports that the channel is gone.
    let calls = async {
        loop {
            match process.state(&names[1], 5, 5).await {
                Ok(units) => assert_eq!(units, 5),
                // While the slot is being moved.
                Err(error) if error.is_refusal() => assert!(["ASK", "TRYAGAIN"].contains(&error.code().unwrap())),
                Err(error) => break assert_eq!(error, StoreError::UNREACHABLE),
            }
        }
    };
    let moving = smol::unblock({
        let key = format!("bl:{{{}}}:S", names[1]);
        move || {
            cluster.move_slot_of(&key, 2);
            cluster
        }
    });
    let ((), cluster) = futures_util::future::join(calls, moving).await;
    process.ears.wait(|told| *told == Told::Ended);
    assert_eq!(process.link.listen(&names[0]).await, Err(StoreError::UNREACHABLE));
    // A link that does not listen follows.
    assert_eq!(silent.granted(&names[1]).await, 5);
    assert_eq!(silent.ears.told(), []);
    let next = at(&cluster.nodes()[0].url(), 1).await;
    assert_ne!(next.link.listen(&names[1]).await.unwrap().run, run);
    assert_eq!(next.state(&names[1], 5, 5).await, Ok(5));
}

async fn a_dead_node_leaves_the_other_names() {
    let mut cluster = require!(Cluster::start(3));
    let names = names(&cluster);
    let process = at(&cluster.nodes()[0].url(), 1).await;
    for name in &names {
        process.join(name, 5).await.unwrap();
    }
    cluster.nodes_mut()[1].kill();
    process.ears.wait(|told| *told == Told::Ended);
    let next = at(&cluster.nodes()[0].url(), 2).await;
    let deadline = Instant::now() + PATIENCE;
    // The others still redirect to it, or report that the cluster is down.
    let refused = StoreError::refused("CLUSTERDOWN");
    assert_eq!(next.link.listen(&names[1]).await, Err(refused.clone()));
    assert_eq!(next.link.look(&names[1]).await, Err(refused));
    assert_eq!(next.ears.told(), []);
    cluster.nodes_mut()[1].restart(bulklink_servers::Data::Empty);
    while next.join(&names[1], 5).await.is_err() {
        assert!(Instant::now() < deadline);
        smol::Timer::after(Duration::from_millis(50)).await;
    }
    assert_eq!(next.ears.told(), []);
}

/// A node that is a replica of another one.
fn replica_of(primary: &Server) -> Option<Server> {
    let bus = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port().to_string();
    let replica = Server::builder().tcp().config("cluster-enabled", "yes").config("cluster-port", &bus);
    let replica = replica.config("cluster-node-timeout", "2000").start().ok()?;
    let id = primary.call(&["CLUSTER", "MYID"]).text();
    // The line of a node begins with its id, and `127.0.0.1:port@bus,name`.
    let nodes = primary.call(&["CLUSTER", "NODES"]).text();
    let line = nodes.lines().find(|line| line.starts_with(&id)).unwrap();
    let place = line.split(' ').nth(1).unwrap().split(',').next().unwrap();
    let (port, bus) = place.rsplit_once(':').unwrap().1.split_once('@').unwrap();
    replica.call(&["CLUSTER", "MEET", "127.0.0.1", port, bus]);
    let wait_until = |is_done: &dyn Fn() -> bool| {
        let deadline = Instant::now() + PATIENCE;
        while !is_done() {
            assert!(Instant::now() < deadline, "no replica: {}", replica.call(&["CLUSTER", "NODES"]).text());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // Once, as each such order begins the copy of the data anew.
    wait_until(&|| !replica.call(&["CLUSTER", "REPLICATE", &id]).is_error());
    wait_until(&|| replica.info("master_link_status").as_deref() == Some("up"));
    wait_until(&|| replica.call(&["CLUSTER", "INFO"]).text().contains("cluster_state:ok"));
    Some(replica)
}

async fn a_replica_leads_to_its_primary() {
    let cluster = require!(Cluster::start(3));
    let names = names(&cluster);
    let Some(replica) = replica_of(&cluster.nodes()[1]) else { return };
    let (first, second) = (at(&replica.url(), 1).await, at(&cluster.nodes()[1].url(), 2).await);
    for name in &names {
        let known = first.link.listen(name).await.unwrap();
        assert_eq!(second.link.listen(name).await.unwrap().run, known.run);
        assert_eq!(second.state(name, 0, 10).await, Ok(10));
        assert_eq!(first.state(name, 0, 4).await, Ok(0));
        assert_eq!(second.state(name, 6, 6).await, Ok(6));
        first.ears.wait(|told| matches!(told, Told::Notice(about, Notice::Granted(_)) if about == name));
        assert_eq!(first.granted(name).await, 10);
    }
    assert_eq!(first.ears.grants().len(), 3);
}
