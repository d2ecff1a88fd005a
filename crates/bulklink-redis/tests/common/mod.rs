//! A connection that runs commands by the scripts, for all tests.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};

use bulklink_redis::plumbing::{self, Keys, Script};
use bulklink_redis::{Answer, Command, Name, Namespace, Notice, OwnerId, Terms};
use redis::{Cmd, Connection, Pipeline, PushInfo, PushKind, RedisError, Value, cmd, from_redis_value};

/// A connection to a server, for one bulkhead.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
    pushes: Receiver<PushInfo>,
    hashes: HashMap<Script, String>,
    /// Where the scripts of the tests read the time.
    clock: String,
    channels: HashMap<String, OwnerId>,
}

impl Client {
    /// Connects, and loads the scripts as `changed` returns them.
    pub(crate) fn new(url: &str, name: &Name, changed: impl Fn(&str) -> String) -> Self {
        let separator = if url.contains('?') { '&' } else { '?' };
        let client = redis::Client::open(format!("{url}{separator}protocol=resp3")).unwrap();
        let mut connection = client.get_connection().unwrap();
        let (sender, pushes) = channel();
        connection.set_push_sender(sender);
        let mut load = |script: Script| {
            let hash = cmd("SCRIPT").arg("LOAD").arg(changed(script.text())).query(&mut connection).unwrap();
            (script, hash)
        };
        let (hashes, keys) = (Script::ALL.into_iter().map(&mut load).collect(), Keys::new(name));
        let clock = keys.all()[0].replace(":L", ":clock");
        Client { connection, keys, pushes, hashes, clock, channels: HashMap::new() }
    }

    /// Makes the notices to a process arrive, or no longer.
    pub(crate) fn listen(&mut self, owner: OwnerId, on: bool) {
        let channel = self.keys.channel(owner);
        let mut command = cmd(if on { "SSUBSCRIBE" } else { "SUNSUBSCRIBE" });
        command.arg(&channel).set_no_response(true).exec(&mut self.connection).unwrap();
        self.channels.insert(channel, owner);
    }

    /// The call of the command's script. Its last key is the clock, which usual scripts ignore.
    pub(crate) fn evalsha(&self, command: &Command) -> Cmd {
        let plumbing::Call { script, arguments } = plumbing::call(command).unwrap();
        let mut call = cmd("EVALSHA");
        call.arg(&self.hashes[&script]).arg(6).arg(&self.keys.all()[..]).arg(&self.clock).arg(arguments);
        call
    }

    /// Runs a command.
    pub(crate) fn run(&mut self, command: &Command) -> Result<Answer, RedisError> {
        let reply: Value = self.evalsha(command).query(&mut self.connection)?;
        Ok(plumbing::answer(command, &reply).unwrap_or_else(|error| panic!("{error}: {reply:?} to {command:?}")))
    }

    /// Appends to a pipeline what sets the clock of the tests.
    pub(crate) fn set_clock(&self, pipeline: &mut Pipeline, now: u64) {
        pipeline.cmd("DEL").arg(&self.clock).ignore();
        pipeline.cmd("RPUSH").arg(&self.clock).arg(now / 1_000_000).arg(now % 1_000_000).ignore();
    }

    /// Returns the notices that have arrived.
    pub(crate) fn notices(&self) -> Vec<(OwnerId, Notice)> {
        let messages = self.pushes.try_iter().filter(|push| push.kind == PushKind::SMessage);
        let read = |push: PushInfo| {
            let [channel, message] = <[Value; 2]>::try_from(push.data).unwrap();
            let (channel, message): (String, Vec<u8>) =
                (from_redis_value(channel).unwrap(), from_redis_value(message).unwrap());
            (self.channels[&channel], plumbing::notice(&message).unwrap())
        };
        messages.map(read).collect()
    }
}

/// The name of the bulkhead in tests.
pub(crate) fn name(label: &str) -> Name {
    Name::new(&Namespace::new("test").unwrap(), label).unwrap()
}

/// A process of the tests.
pub(crate) fn owner() -> OwnerId {
    OwnerId::from(1)
}

/// Opens a bulkhead that recovers without a quarantine.
pub(crate) fn open(owner: OwnerId, limit: u64, terms: Terms) -> Command {
    let info = "host/1/program".into();
    Command::Open {
        owner,
        generation: 1,
        limit,
        config: 1,
        terms,
        known: None,
        highest: None,
        run: None,
        young: false,
        info,
    }
}
