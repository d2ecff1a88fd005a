//! A compiler besides the usual one, and how cargo is made to use it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{ask, command};

/// A compiler that works, and the folder with its libraries if it isn't where it was built to lie.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    pub(crate) rustc: PathBuf,
    pub(crate) libraries: Option<PathBuf>,
}

impl Compiler {
    /// Makes cargo use this compiler.
    pub(crate) fn apply<'a>(&self, cargo: &'a mut Command) -> &'a mut Command {
        self.with_libraries(cargo).env("RUSTC", &self.rustc).env("RUSTDOC", self.rustc.with_file_name("rustdoc"))
    }

    /// Its version, if it runs.
    pub(crate) fn version(&self) -> Option<String> {
        let answer = self.answer("--version")?;
        answer.split_whitespace().nth(1).map(str::to_owned)
    }

    /// Whether the library's source lies with it, where cargo looks for it.
    pub(crate) fn has_sources(&self) -> bool {
        self.answer("--print=sysroot").is_some_and(|root| Path::new(&root).join(SOURCES).is_dir())
    }

    fn answer(&self, question: &str) -> Option<String> {
        ask(self.with_libraries(&mut command(&self.rustc, &[question]))).map(|answer| answer.trim().to_owned())
    }

    fn with_libraries<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.libraries {
            Some(folder) => command.env("LD_LIBRARY_PATH", folder),
            None => command,
        }
    }
}

const SOURCES: &str = "lib/rustlib/src/rust/library/core";
