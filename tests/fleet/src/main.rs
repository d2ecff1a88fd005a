//! Runs the contest: prints a table, and writes JSON. `fleet-contest worker TASK` is one process of
//! it.

#[cfg(unix)]
mod contest {
    use std::path::PathBuf;

    use anyhow::{Context, Result};
    use bulklink_contest::report::{Row, json, table};
    use bulklink_contest::scene::{Arena, Effort, Scene};
    use bulklink_contest::worker;
    use clap::{Parser, Subcommand};

    #[derive(Parser)]
    struct Options {
        #[command(subcommand)]
        role: Option<Role>,
        /// Less of everything: about three minutes
        #[arg(long)]
        quick: bool,
        /// Run only this: fail-fast, contended, crowd, hand-off, reuse, cost, crash, memory,
        /// postgres or chaos
        #[arg(long, value_name = "SCENE")]
        only: Vec<String>,
        /// Write the rows with a limit there as JSON
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// A line to print above the table: where and how it was measured
        #[arg(long)]
        about: Option<String>,
    }

    #[derive(Subcommand)]
    enum Role {
        /// Be a process of the contest
        #[command(hide = true)]
        Worker {
            /// What to do, as JSON
            task: String,
        },
    }

    pub(super) fn run() -> Result<()> {
        let options = Options::parse();
        if let Some(Role::Worker { task }) = options.role {
            return worker::run(serde_json::from_str(&task)?);
        }
        let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
        let mut scenes = Scene::ALL.to_vec();
        if !options.only.is_empty() {
            let named = |name: &String| {
                let found = scenes.iter().copied().find(|scene| scene.name() == name);
                found.with_context(|| format!("there is no scene {name}"))
            };
            scenes = options.only.iter().map(named).collect::<Result<_>>()?;
        }
        let arena = Arena::start(std::env::current_exe()?)?;
        let mut rows = Vec::new();
        for scene in scenes {
            let start = std::time::Instant::now();
            let result = scene.run(&arena, &effort);
            eprintln!("{}: {:.0} s", scene.name(), start.elapsed().as_secs_f64());
            rows.extend(result.unwrap_or_else(|why| vec![Row::failed(scene.name(), &why)]));
        }
        println!("{}{}", options.about.map_or_else(String::new, |about| format!("{about}\n\n")), table(&rows));
        if let Some(path) = options.json {
            std::fs::write(&path, serde_json::to_string_pretty(&json(&rows))? + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn main() -> anyhow::Result<()> {
    contest::run()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("the contest needs Unix: it stops and kills processes by signals");
}
