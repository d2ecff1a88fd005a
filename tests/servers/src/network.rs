//! A network with two ends, in namespaces of the kernel, on which every packet can vanish.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::Missing;

/// Is set in the process that runs a test inside of the namespaces.
const INSIDE: &str = "BULKLINK_INSIDE_A_NETWORK";

/// The addresses of the two ends. No other network is in the namespaces.
const NEAR: &str = "10.73.0.1";
const FAR: &str = "10.73.0.2";

/// A network between the test process and a [`Server`](crate::Server) that is
/// [beyond](crate::Builder::beyond) it.
///
/// Its black hole is a real one: the kernel takes each packet and drops it. No end gets an error,
/// and what TCP sends again and again arrives after the network has [healed](Network::heal).
#[derive(Debug)]
pub struct Network {
    /// Keeps the namespace of the far end, until its standard input ends.
    far: Child,
}

impl Network {
    /// Runs the body of a test in a process that has such a network. `test` is the name by which
    /// the test harness knows the test, which must do nothing else.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if the kernel or this machine does not permit namespaces.
    ///
    /// # Panics
    ///
    /// Panics if the body does.
    pub fn run(test: &str, body: impl FnOnce(&Network)) -> Result<(), Missing> {
        if env::var_os(INSIDE).is_some() {
            body(&Network::new());
            return Ok(());
        }
        let unshare = || {
            let mut unshare = Command::new("unshare");
            unshare.args(["--user", "--map-root-user", "--net"]);
            unshare
        };
        let probe = unshare().args(["sh", "-c", "ip link set lo up && command -v nsenter"]).output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            return Err(Missing(
                "no network namespaces: they need unshare, nsenter, ip, and the kernel's leave".into(),
            ));
        }
        let program = env::current_exe().expect("the test process has a program");
        let run = unshare().arg(program).args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output();
        let run = run.expect("unshare has run before");
        let said = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        Ok(())
    }

    fn new() -> Self {
        let mut far = Command::new("unshare");
        far.args(["--net", "sh", "-c", "ip link set lo up; echo; read -r _"]);
        let mut far = far.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare starts");
        let mut line = String::new();
        BufReader::new(far.stdout.take().expect("piped")).read_line(&mut line).expect("the far end is there");
        let network = Network { far };
        run(&format!("ip link add near type veth peer name far netns {}", network.pid()));
        run("ip link set lo up");
        run(&format!("ip address add {NEAR}/24 dev near"));
        run("ip link set near up");
        network.run_beyond(&format!("ip address add {FAR}/24 dev far"));
        network.run_beyond("ip link set far up");
        network
    }

    /// Drops each packet, in both directions, from now on.
    pub fn black_hole(&self) {
        // The far end has no way back. The kernel also drops what comes from where none leads to.
        self.run_beyond(&format!("ip route add blackhole {NEAR}/32"));
    }

    /// Ends the black hole.
    pub fn heal(&self) {
        self.run_beyond(&format!("ip route del blackhole {NEAR}/32"));
    }

    /// What starts a program at the far end.
    pub(crate) fn enter(&self) -> [String; 5] {
        ["nsenter", "-t", &self.pid(), "-n", "--"].map(str::to_owned)
    }

    /// The address of the far end.
    pub(crate) const fn host() -> &'static str {
        FAR
    }

    fn pid(&self) -> String {
        self.far.id().to_string()
    }

    fn run_beyond(&self, command: &str) {
        run(&format!("{} {command}", self.enter().join(" ")));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(mut orders) = self.far.stdin.take() {
            let _ = writeln!(orders);
        }
        let _ = self.far.wait();
    }
}

fn run(command: &str) {
    let mut words = command.split(' ');
    let program = words.next().expect("a command has a program");
    let output = Command::new(program).args(words).output().expect("the probe has found it");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}
