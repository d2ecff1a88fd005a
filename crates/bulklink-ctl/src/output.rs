//! The standard output: JSON or text, with colours or without, a terminal or a pipe.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::text::{Text, date, is_hidden};

/// Goes to the upper left corner, and does not break long lines.
const BEGIN: &str = "\x1b[H\x1b[?7l";

/// Clears what is left of a line.
const END_OF_LINE: &str = "\x1b[K\n";

/// Clears what is left of the screen, and breaks long lines again.
const END: &str = "\x1b[J\x1b[?7h";

/// Where reports go.
pub(crate) struct Output {
    form: Form,
    colours: bool,
    /// Whether a view is on the screen.
    is_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// Text for a pipe or a file.
    Lines,
    /// Text for a terminal.
    Screen,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let colours = colours(is_terminal, env::var_os("NO_COLOR").as_deref(), env::var_os("TERM").as_deref());
        let form = match (json, is_terminal) {
            (true, _) => Form::Json,
            (false, false) => Form::Lines,
            (false, true) => Form::Screen,
        };
        Output { form, colours, is_begun: false }
    }

    /// Prints a report.
    pub(crate) fn print(&self, report: &(impl Serialize + Text)) -> Result<(), Failure> {
        write(&if self.form == Form::Json { json(report) } else { report.text(self.colours) })
    }

    /// Prints one of many reports: in place of the last one on a terminal, and as a line elsewhere.
    pub(crate) fn view(&mut self, title: &str, report: &(impl Serialize + Text)) -> Result<(), Failure> {
        match self.form {
            Form::Json => write(&json(report)),
            Form::Lines => write(&(report.line() + "\n")),
            Form::Screen => self.draw(title, &report.text(self.colours)),
        }
    }

    fn draw(&mut self, title: &str, text: &str) -> Result<(), Failure> {
        let clear = if self.is_begun { "" } else { "\x1b[2J" };
        self.is_begun = true;
        let rows = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
        write(&format!("{clear}{BEGIN}{}{END}", on_screen(&format!("{title}\n\n{text}"), rows)))
    }
}

/// The first lines of a text, as many as fit above the cursor.
fn on_screen(text: &str, rows: usize) -> String {
    let (all, room) = (text.lines().count(), rows.saturating_sub(1).max(1));
    let shown = if all > room { room - 1 } else { all };
    let mut screen = String::new();
    for line in text.lines().take(shown) {
        screen += line;
        screen += END_OF_LINE;
    }
    if all > shown {
        let _ = write!(screen, "{} more lines{END_OF_LINE}", all - shown);
    }
    screen
}

/// The line above a view.
pub(crate) fn title(address: &str, at_ms: u64) -> String {
    format!("{}  {}  Ctrl-C ends", date(at_ms), crate::text::visible(address))
}

/// See <https://no-color.org>.
fn colours(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

/// A line of JSON. Strings are the only part of it that can contain what must not reach a terminal.
fn json(report: &impl Serialize) -> String {
    let text = serde_json::to_string(report).expect("the keys are strings");
    let mut line = String::new();
    for char in text.chars() {
        if is_hidden(char) {
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(char);
        }
    }
    line + "\n"
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::new(Kind::PipeClosed, ""),
        kind => Failure::new(Kind::Unreachable, format!("the standard output cannot be written: {kind}")),
    })
}
