//! How reports on shares look to people.

use super::report::{Content, Gap, List, Member, Resize, Row, Show, Summary};
use crate::table::{Cell, Table, left, right};
use crate::text::{Colour, Text, count, date, time, visible};

impl Text for List {
    fn text(&self, colours: bool) -> String {
        let Some(first) = self.shares.first() else { return "no shares\n".to_owned() };
        let is_one = self.shares.iter().all(|row| row.names.namespace == first.names.namespace);
        let heads = [left("NAME"), right("LIMIT"), right("GRANTED"), right("PROCESSES"), right("LEVEL"), left("NOTE")];
        let mut table = Table::new(heads.into());
        for Row { names, content } in &self.shares {
            let name = if is_one { names.label.clone() } else { format!("{}:{}", names.namespace, names.label) };
            let mut cells = vec![Cell::new(name)];
            match content {
                Content::Read(summary) => cells.extend(summary.cells()),
                Content::Unreadable { error } => {
                    cells.extend(["-"; 4].map(Cell::new));
                    cells.push(Cell::new(error).in_colour(Colour::Red));
                }
            }
            table.push(cells);
        }
        table.text(colours)
    }

    fn line(&self) -> String {
        let row = |Row { names, content }: &Row| {
            let essence = match content {
                Content::Read(summary) => summary.essence(),
                Content::Unreadable { error } => error.clone(),
            };
            format!("{}: {essence}", visible(&names.label))
        };
        let rows: Vec<_> = self.shares.iter().map(row).collect();
        format!("{} {}", date(self.at_ms), if rows.is_empty() { "no shares".to_owned() } else { rows.join("; ") })
    }
}

impl Summary {
    fn cells(&self) -> [Cell; 5] {
        let note = self.quarantine_ms.map(|rest| format!("recovering for {}", time(rest))).unwrap_or_default();
        [
            Cell::new(self.limit),
            Cell::new(self.granted).in_colour(self.load()),
            Cell::new(self.processes),
            known(self.level),
            Cell::new(note).in_colour(Colour::Yellow),
        ]
    }

    /// More than the limit is granted after it was lowered, or after data was lost.
    fn load(&self) -> Colour {
        match self.level {
            _ if self.granted > self.limit.into() => Colour::Red,
            Some(_) => Colour::Yellow,
            None => Colour::Plain,
        }
    }

    fn essence(&self) -> String {
        let Summary { limit, granted, processes, .. } = self;
        let level = self.level.map(|level| format!(", level {level}")).unwrap_or_default();
        let quarantine = self.quarantine_ms.map(|rest| format!(", recovering for {}", time(rest))).unwrap_or_default();
        format!("{granted} of {limit} granted, {}{level}{quarantine}", count(*processes, "process"))
    }
}

impl Text for Show {
    fn text(&self, colours: bool) -> String {
        let label = Cell::new(&self.names.label).in_colour(Colour::Bold).text(colours);
        let mut text = format!("{label} in {}\n\n{}", self.names.namespace, self.facts().text(colours));
        if !self.rows.is_empty() {
            text += "\n";
            text += &self.members().text(colours);
        }
        text
    }

    fn line(&self) -> String {
        format!("{} {}: {}", date(self.at_ms), visible(&self.names.label), self.summary.essence())
    }
}

impl Show {
    fn facts(&self) -> Table {
        let Show { summary, declared_limit, config, declarer, epoch, .. } = self;
        let mut table = Table::without_head(2);
        let mut fact = |name: &str, value: Cell| table.push(vec![Cell::new(name), value]);
        fact("limit", Cell::new(format!("{}, version {}", summary.limit, summary.version)));
        fact("declared", Cell::new(format!("{declared_limit}, configuration {config}, by {declarer}")));
        let [lease, claim, calm] = [self.lease_ms, self.claim_ms, self.calm_ms].map(time);
        let recovery = if self.recovers { "recovers" } else { "does not recover" };
        fact("terms", Cell::new(format!("lease {lease}, claim {claim}, calm {calm}, {recovery}")));
        fact("granted", Cell::new(summary.granted).in_colour(summary.load()));
        fact("processes", Cell::new(summary.processes));
        if let Some(level) = summary.level {
            let level = format!("{} for each weight", count(level.into(), "unit"));
            fact("level", Cell::new(level).in_colour(Colour::Yellow));
        }
        fact("token", Cell::new(self.last_token));
        fact("epoch", Cell::new(format!("{epoch}, {}", date(epoch / 1000))));
        fact("run", Cell::new(self.run.as_deref().unwrap_or("-")));
        if let Some(rest) = summary.quarantine_ms {
            let recovering = format!("for {}: nothing is granted", time(rest));
            fact("quarantine", Cell::new(recovering).in_colour(Colour::Yellow));
        }
        table
    }

    fn members(&self) -> Table {
        let heads = [left("PROCESS"), right("GRANTED"), right("NEED"), right("WEIGHT"), right("TICKET")];
        let more = [right("SILENT"), right("LEASE"), left("SERVED")];
        let mut table = Table::new(heads.into_iter().chain(more).collect());
        for Member { process, granted, need, weight, ticket, silent_ms, lease_left_ms, served } in &self.rows {
            table.push(vec![
                Cell::new(process),
                Cell::new(granted),
                Cell::new(need),
                Cell::new(weight),
                known(*ticket),
                Cell::new(time(*silent_ms)),
                Cell::new(time(*lease_left_ms)),
                if *served { Cell::new("yes") } else { Cell::new("no").in_colour(Colour::Yellow) },
            ]);
        }
        table
    }
}

fn known(number: Option<impl ToString>) -> Cell {
    Cell::new(number.map_or_else(|| "-".to_owned(), |number| number.to_string()))
}

impl Text for Resize {
    fn text(&self, _: bool) -> String {
        self.line() + "\n"
    }

    fn line(&self) -> String {
        let Resize { names, limit, previous_limit, version } = self;
        format!("{}: limit {limit}, was {previous_limit}; version {version}", visible(&names.label))
    }
}

impl Text for Gap {
    fn text(&self, colours: bool) -> String {
        Cell::new(&self.error).in_colour(Colour::Red).text(colours) + "\n"
    }

    fn line(&self) -> String {
        format!("{} {}", date(self.at_ms), visible(&self.error))
    }
}
