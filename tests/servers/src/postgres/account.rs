//! The user of the operating system that runs a server: PostgreSQL refuses root.

use std::ffi::OsString;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Missing;

/// The present user, or for root another that has no rights.
#[derive(Clone, Debug)]
pub(crate) struct Account(Option<[u32; 2]>);

impl Account {
    /// Finds the user, once.
    pub(crate) fn find() -> Result<Self, Missing> {
        static FOUND: OnceLock<Result<Account, Missing>> = OnceLock::new();
        FOUND.get_or_init(Self::choose).clone()
    }

    fn choose() -> Result<Self, Missing> {
        if id(&["-u"]) != Some(0) {
            return Ok(Account(None));
        }
        let ids = id(&["-u", "nobody"]).zip(id(&["-g", "nobody"]));
        let Some((user, group)) = ids else {
            return Err(Missing("PostgreSQL refuses root, and there is no user nobody".to_owned()));
        };
        let account = Account(Some([user, group]));
        let drops = account.command(Path::new("true")).output().is_ok_and(|output| output.status.success());
        let why = "PostgreSQL refuses root, and no setpriv can drop its rights";
        if drops { Ok(account) } else { Err(Missing(why.to_owned())) }
    }

    /// The command line of a program that runs as this user.
    pub(crate) fn words(&self, program: PathBuf) -> Vec<OsString> {
        let mut words = Vec::new();
        if let Some([user, group]) = self.0 {
            words.extend(["setpriv".into(), format!("--reuid={user}").into(), format!("--regid={group}").into()]);
            words.push("--clear-groups".into());
        }
        words.push(program.into());
        words
    }

    /// A program that runs as this user. The present folder may be closed to it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let words = self.words(program.to_owned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/");
        command
    }

    /// Gives a file, or a folder with the files in it, to this user.
    pub(crate) fn give(&self, path: &Path) {
        let Some([user, group]) = self.0 else { return };
        let files = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        for path in files.chain([path.to_owned()]) {
            chown(path, Some(user), Some(group)).expect("root may give files away");
        }
    }
}

/// The output of `id`.
fn id(words: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(words).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
