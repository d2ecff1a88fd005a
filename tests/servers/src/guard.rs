//! A server's process and folder, which end when the test process does.
//!
//! A shell starts the server and obeys one order a line on its standard input. When that ends,
//! because the value is dropped or because the test process is gone, the shell kills the server
//! and removes the folder. The shell is in its own process group, so that a signal to the group of
//! the test process, such as by Ctrl-C, does not end it first.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Answers each order with a line. A process in the background of a shell has no standard input.
/// The children of a server are looked up while it is stopped, as it can add none then. One that
/// has ended holds nothing more, and may stay as a zombie for long: its parent is gone.
const SHELL: &str = r#"
trap '' HUP INT TERM
folder=$1
shift
signal() {
    kill -s "$1" "$pid"
    children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    [ -z "$children" ] || kill -s "$1" $children 2>/dev/null
}
runs() {
    read -r stat 2>/dev/null <"/proc/$1/stat" || return
    case ${stat##*) } in Z* | X*) return 1 ;; esac
}
end() {
    [ -n "$pid" ] || return
    signal STOP
    kill -s KILL "$pid" $children 2>/dev/null
    wait
    for child in $children; do
        while runs "$child"; do sleep 0.01; done
    done
    pid=
}
while read -r order; do
    case $order in
        START) "$@" >>"$folder/log" 2>&1 & pid=$! ;;
        KILL) end ;;
        WAIT) wait; pid= ;;
        STOP | CONT) signal "$order" ;;
        *) kill -s "$order" "$pid" ;;
    esac
    echo "${pid:-0}"
done
end
rm -rf "$folder"
"#;

/// The shell that guards one server.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    /// `None` after the last order.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Guard {
    /// A guard of the folder, and of a program with its arguments that is not started yet.
    pub(crate) fn new(folder: &Path, program: &[OsString]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", SHELL, "sh"]).arg(folder).args(program).process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().expect("a shell starts");
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("the output is piped"));
        Guard { shell, orders, answers }
    }

    /// Starts the server and returns its process id.
    pub(crate) fn start(&mut self) -> u32 {
        self.order("START")
    }

    /// Kills the server with its children, and waits for their end.
    pub(crate) fn kill(&mut self) {
        self.order("KILL");
    }

    /// Waits until the server has ended by itself.
    pub(crate) fn wait(&mut self) {
        self.order("WAIT");
    }

    /// Sends the server a signal, such as `INT`. Its children get `STOP` and `CONT` too.
    pub(crate) fn signal(&mut self, name: &str) {
        self.order(name);
    }

    fn order(&mut self, order: &str) -> u32 {
        let orders = self.orders.as_mut().expect("the guard lives");
        writeln!(orders, "{order}").expect("the guard reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the guard answers");
        answer.trim().parse().expect("the guard answers with a process id")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.orders = None;
        // The folder is gone when the shell is.
        let _ = self.shell.wait();
    }
}
