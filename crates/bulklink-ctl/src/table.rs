//! Columns of text.

use std::fmt::Display;

use crate::text::{Colour, visible};

/// A field of a table. What it contains is visible: it may be of any user.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    colour: Colour,
}

impl Cell {
    pub(crate) fn new(content: impl Display) -> Self {
        Cell { text: visible(&content.to_string()), colour: Colour::Plain }
    }

    pub(crate) fn in_colour(self, colour: Colour) -> Self {
        Cell { colour, ..self }
    }

    pub(crate) fn text(&self, colours: bool) -> String {
        let code = match self.colour {
            Colour::Bold => 1,
            Colour::Yellow => 33,
            Colour::Red => 31,
            Colour::Plain => return self.text.clone(),
        };
        if colours && !self.text.is_empty() { format!("\x1b[{code}m{}\x1b[0m", self.text) } else { self.text.clone() }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// The heading of a column.
pub(crate) struct Head {
    name: &'static str,
    is_right: bool,
}

/// The heading of a column of texts.
pub(crate) fn left(name: &'static str) -> Head {
    Head { name, is_right: false }
}

/// The heading of a column of numbers.
pub(crate) fn right(name: &'static str) -> Head {
    Head { name, is_right: true }
}

/// Rows of cells.
pub(crate) struct Table {
    is_right: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(heads: Vec<Head>) -> Self {
        let is_right = heads.iter().map(|head| head.is_right).collect();
        let first = heads.iter().map(|head| Cell::new(head.name).in_colour(Colour::Bold)).collect();
        Table { is_right, rows: vec![first] }
    }

    /// A table of texts without headings.
    pub(crate) fn without_head(columns: usize) -> Self {
        Table { is_right: vec![false; columns], rows: vec![] }
    }

    pub(crate) fn push(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The rows, with the columns below each other.
    pub(crate) fn text(&self, colours: bool) -> String {
        let width = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or_default();
        let widths: Vec<_> = (0..self.is_right.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            // Spaces are written before the next text, so that no line ends with them.
            let mut gap = 0;
            for ((cell, width), is_right) in row.iter().zip(&widths).zip(&self.is_right) {
                let rest = width - cell.width();
                let (before, after) = if *is_right { (rest, 0) } else { (0, rest) };
                if cell.width() > 0 {
                    line += &" ".repeat(gap + before);
                    line += &cell.text(colours);
                    gap = after + 2;
                } else {
                    gap += width + 2;
                }
            }
            text += &line;
            text.push('\n');
        }
        text
    }
}
