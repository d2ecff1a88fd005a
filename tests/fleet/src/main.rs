//! Runs a contest: prints a table, and writes JSON. `fleet-contest worker TASK` and `fleet-contest
//! prober TASK` are one process of it.

#[cfg(unix)]
mod contest {
    use std::fmt::Display;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use anyhow::{Context, Result};
    use bulklink_contest::report::{Row, json, table};
    use bulklink_contest::scene::{self, Arena};
    use bulklink_contest::{breaker, sim, worker};
    use clap::{Parser, Subcommand};
    use serde_json::Value;

    #[derive(Parser)]
    struct Options {
        #[command(subcommand)]
        role: Option<Role>,
        /// Less of everything
        #[arg(long, global = true)]
        quick: bool,
        /// Run only this scene
        #[arg(long, global = true, value_name = "SCENE")]
        only: Vec<String>,
        /// Write the rows with a limit there as JSON
        #[arg(long, global = true, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Begin the JSON with the rows of another program, from this file
        #[arg(long, global = true, value_name = "FILE")]
        after: Option<PathBuf>,
        /// A line to print above the table: where and how it was measured
        #[arg(long, global = true)]
        about: Option<String>,
    }

    #[derive(Subcommand)]
    enum Role {
        /// The circuit that processes share, instead of their limit
        Breaker,
        /// The rules of shares, in virtual time and without a server
        Sim,
        /// Be a process of the contest
        #[command(hide = true)]
        Worker {
            /// What to do, as JSON
            task: String,
        },
        /// Be a process that holds a probe
        #[command(hide = true)]
        Prober {
            /// What to probe, as JSON
            task: String,
        },
    }

    pub(super) fn run() -> Result<()> {
        let options = Options::parse();
        match &options.role {
            None => options.limit(),
            Some(Role::Breaker) => options.circuit(),
            Some(Role::Sim) => {
                println!("{}", sim::table(options.quick));
                Ok(())
            }
            Some(Role::Worker { task }) => worker::run(serde_json::from_str(task)?),
            Some(Role::Prober { task }) => breaker::probe(&serde_json::from_str(task)?),
        }
    }

    impl Options {
        fn limit(&self) -> Result<()> {
            use scene::{Effort, Scene};
            let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
            let scenes = self.chosen(Scene::ALL.map(|scene| (scene.name(), scene)))?;
            let arena = Arena::start(std::env::current_exe()?)?;
            self.play(scenes, |scene| scene.run(&arena, &effort))
        }

        fn circuit(&self) -> Result<()> {
            use breaker::{Effort, Ground, Scene};
            let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
            let scenes = self.chosen(Scene::ALL.map(|scene| (scene.name(), scene)))?;
            let ground = Ground::start(std::env::current_exe()?)?;
            self.play(scenes, |scene| scene.run(&ground, &effort))
        }

        /// Returns the scenes that were named, or all.
        fn chosen<S: Copy, const N: usize>(&self, all: [(&'static str, S); N]) -> Result<Vec<(&'static str, S)>> {
            if self.only.is_empty() {
                return Ok(all.into());
            }
            let names = all.map(|(name, _)| name).join(", ");
            let find = |name: &String| {
                let found = all.iter().copied().find(|(known, _)| known == name);
                found.with_context(|| format!("there is no scene {name}, but {names}"))
            };
            self.only.iter().map(find).collect()
        }

        /// Runs the scenes and reports their rows.
        fn play<S>(&self, scenes: Vec<(&'static str, S)>, run: impl Fn(S) -> Result<Vec<Row>>) -> Result<()> {
            let mut rows = Vec::new();
            for (name, scene) in scenes {
                let start = Instant::now();
                let result = run(scene);
                eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
                rows.extend(result.unwrap_or_else(|why| vec![Row::failed(name, &why)]));
            }
            println!(
                "{}{}",
                self.about.as_ref().map_or_else(String::new, |about| format!("{about}\n\n")),
                table(&rows)
            );
            let Some(path) = &self.json else { return Ok(()) };
            let mut all = self.after.as_deref().map_or_else(|| Ok(Vec::new()), read)?;
            all.extend(json(&rows).as_array().cloned().unwrap_or_default());
            std::fs::write(path, serde_json::to_string_pretty(&all)? + "\n").with_context(|| cannot("write", path))
        }
    }

    fn read(path: &Path) -> Result<Vec<Value>> {
        let text = std::fs::read_to_string(path).with_context(|| cannot("read", path))?;
        serde_json::from_str(&text).with_context(|| cannot("understand", path))
    }

    fn cannot(what: impl Display, path: &Path) -> String {
        format!("cannot {what} {}", path.display())
    }
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    // On one line: a missing program needs no backtrace.
    let failed = contest::run().inspect_err(|error| eprintln!("fleet-contest: {error:#}")).is_err();
    std::process::ExitCode::from(u8::from(failed))
}

#[cfg(not(unix))]
fn main() {
    eprintln!("the contest needs Unix: it stops and kills processes by signals");
}
