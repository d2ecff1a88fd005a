//! Worker processes, and faults for them. None outlives its [`Crew`].

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::now;
use crate::record::{self, End, Record};
use crate::task::Task;
use crate::witness::{Call, Nanos};

/// What of a killed process is still on its way arrives within this time.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// The processes of one contest.
#[derive(Debug)]
pub struct Crew {
    program: PathBuf,
    folder: PathBuf,
    members: Vec<Member>,
    clients: u32,
}

#[derive(Debug)]
struct Member {
    task: Task,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    hired: Nanos,
    /// Whether its clients have finished.
    is_done: bool,
    /// `None` while it runs.
    end: Option<End>,
}

impl Crew {
    /// A crew without members. Its processes run `program worker`.
    ///
    /// # Errors
    ///
    /// Fails if no temporary folder can be made.
    pub fn new(program: PathBuf) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("bulklink-contest-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).context("no temporary folder")?;
        Ok(Crew { program, folder, members: Vec::new(), clients: 0 })
    }

    /// Starts a process, and returns its place. Its clients have numbers that no other has.
    ///
    /// # Errors
    ///
    /// Fails if it does not start.
    pub fn hire(&mut self, task: &Task) -> Result<usize> {
        let place = self.members.len();
        let task = Task { first: self.clients, file: self.folder.join(place.to_string()), ..task.clone() };
        self.clients += task.clients;
        let mut command = Command::new(&self.program);
        command.arg("worker").arg(serde_json::to_string(&task)?).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{} does not start", self.program.display()))?;
        let (orders, answers) = (child.stdin.take(), child.stdout.take());
        let orders = orders.context("the input is piped")?;
        let answers = BufReader::new(answers.context("the output is piped")?);
        self.members.push(Member { task, child, orders, answers, hired: now(), is_done: false, end: None });
        Ok(place)
    }

    /// Starts the clients of a process, once it is connected.
    ///
    /// # Errors
    ///
    /// Fails if the process has ended.
    pub fn start(&mut self, place: usize) -> Result<()> {
        self.members[place].expect("ready")?;
        self.members[place].order("start")
    }

    /// Starts the clients of all processes, once all are connected.
    ///
    /// # Errors
    ///
    /// Fails if a process has ended.
    pub fn start_all(&mut self) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.expect("ready"))?;
        self.members.iter_mut().try_for_each(|member| member.order("start"))
    }

    /// Kills a process with SIGKILL, and returns the instant before which it was not dead.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be killed.
    pub fn kill(&mut self, place: usize) -> Result<Nanos> {
        let member = &mut self.members[place];
        let before = now();
        member.child.kill()?;
        member.child.wait()?;
        let longest = u64::try_from((member.task.ttl + ON_ITS_WAY).as_nanos())?;
        member.end = Some(End::Killed(Some(now() + longest)));
        Ok(before)
    }

    /// Stops a process with SIGSTOP, or lets it go on.
    ///
    /// # Errors
    ///
    /// Fails if it has ended.
    pub fn freeze(&mut self, place: usize, is_frozen: bool) -> Result<()> {
        let pid = Pid::from_child(&self.members[place].child);
        Ok(kill_process(pid, if is_frozen { Signal::STOP } else { Signal::CONT })?)
    }

    /// Waits until the clients of a process have made all their calls.
    ///
    /// # Errors
    ///
    /// Fails if it ended before.
    pub fn finish(&mut self, place: usize) -> Result<()> {
        self.members[place].finish()
    }

    /// [`finish`](Self::finish) for all.
    ///
    /// # Errors
    ///
    /// Fails if one of them ended before.
    pub fn finish_all(&mut self) -> Result<()> {
        self.members.iter_mut().try_for_each(Member::finish)
    }

    /// Sends all running processes the command to stop, and waits until they have given all back.
    ///
    /// # Errors
    ///
    /// Fails if one of them ended before.
    pub fn stop_all(&mut self) -> Result<()> {
        let mut running: Vec<_> = self.members.iter_mut().filter(|member| member.end.is_none()).collect();
        running.iter_mut().try_for_each(|member| member.order("stop"))?;
        running.iter_mut().try_for_each(|member| {
            member.finish()?;
            member.expect("closed")?;
            member.end = Some(End::Finished);
            Ok(())
        })
    }

    /// Returns the output of a process so far.
    ///
    /// # Errors
    ///
    /// Fails if it has written no file.
    pub fn records(&self, place: usize) -> Result<Vec<Record>> {
        let records = record::read(&self.members[place].task.file)?;
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }

    /// Returns the calls of all processes, which have ended.
    ///
    /// # Errors
    ///
    /// Fails if a process runs, or its records cannot be read.
    pub fn calls(&self) -> Result<Vec<Call>> {
        self.calls_that(|_| true)
    }

    /// Returns the calls of all processes of a name, which have ended.
    ///
    /// # Errors
    ///
    /// Fails if a process runs, or its records cannot be read.
    pub fn calls_of(&self, name: &str) -> Result<Vec<Call>> {
        self.calls_that(|task| task.name == name)
    }

    fn calls_that(&self, matches: impl Fn(&Task) -> bool) -> Result<Vec<Call>> {
        let mut calls = Vec::new();
        for (process, member) in (0..).zip(&self.members).filter(|(_, member)| matches(&member.task)) {
            let end = member.end.context("a process still runs")?;
            // One that was killed early may have no file.
            let records = if member.task.file.exists() { record::read(&member.task.file)? } else { Vec::new() };
            let clients: Vec<_> = member.task.clients().map(|client| (client, member.hired)).collect();
            calls.extend(record::replay(process, &clients, &records, end));
        }
        Ok(calls)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in &mut self.members {
            // One that has ended is gone already.
            let _ = (member.child.kill(), member.child.wait());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Member {
    fn order(&mut self, order: &str) -> Result<()> {
        writeln!(self.orders, "{order}").context("a worker has ended")
    }

    fn expect(&mut self, answer: &str) -> Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(line.trim() == answer, "a worker ended before it was {answer}");
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if !self.is_done {
            self.expect("done")?;
        }
        self.is_done = true;
        Ok(())
    }
}
