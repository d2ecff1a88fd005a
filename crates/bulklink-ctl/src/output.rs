//! The standard output: JSON or text, with colours or without, a terminal or a pipe.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::report::{Dated, Report, View};
use crate::text::{date, is_hidden, visible};

/// Goes to the upper left corner, and does not break long lines.
const BEGIN: &str = "\x1b[H\x1b[?7l";

/// Clears the rest of a line.
const END_OF_LINE: &str = "\x1b[K\n";

/// Clears the rest of the screen, and breaks long lines again.
const END: &str = "\x1b[J\x1b[?7h";

/// The place of reports.
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
        let stdout = io::stdout();
        let form = match (json, stdout.is_terminal()) {
            (true, _) => Form::Json,
            (false, false) => Form::Lines,
            (false, true) => Form::Screen,
        };
        Output { form, colours: AutoStream::choice(&stdout) != ColorChoice::Never, is_begun: false }
    }

    /// Prints a report.
    pub(crate) fn print(&self, report: &impl Report) -> Result<(), Failure> {
        write(&if self.form == Form::Json { json(report) } else { self.text(report) })
    }

    /// Prints one of many views: in place of the last one on a terminal, and as a line elsewhere.
    pub(crate) fn view(&mut self, address: &str, view: impl View) -> Result<(), Failure> {
        let view = Dated::now(view);
        let date = date(view.at_ms);
        match self.form {
            Form::Json => write(&json(&view)),
            Form::Lines => write(&format!("{date} {}\n", view.report.line())),
            Form::Screen => self.draw(&format!("{date}  {}  Ctrl-C ends\n\n{}", visible(address), self.text(&view))),
        }
    }

    fn text(&self, report: &impl Report) -> String {
        let text = report.text();
        if self.colours { text } else { strip_str(&text).to_string() }
    }

    fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let clear = if self.is_begun { "" } else { "\x1b[2J" };
        self.is_begun = true;
        let rows = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
        write(&format!("{clear}{BEGIN}{}{END}", on_screen(text, rows)))
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

/// A line of JSON. Only its strings can contain characters that must not reach a terminal.
fn json(report: &impl Serialize) -> String {
    let text = serde_json::to_string(report).expect("the keys are strings");
    let mut line = String::new();
    for char in text.chars() {
        if is_hidden(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
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
