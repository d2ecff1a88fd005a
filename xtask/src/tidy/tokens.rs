//! Rust as a flat list of tokens: comments are gone, strings are one literal, delimiters are tokens too.

use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};

/// A token as written, and its line counted from 1. Every punctuation character is a token of its own.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The tokens of a source file, or the line at which it stops to be one.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, usize> {
    let stream: TokenStream = source.parse().map_err(|error: proc_macro2::LexError| error.span().start().line)?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => flatten_group(&group, tokens),
            tree => tokens.push(token(&tree.to_string(), tree.span().start())),
        }
    }
}

fn flatten_group(group: &Group, tokens: &mut Vec<Token>) {
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    tokens.push(token(open, group.span_open().start()));
    flatten(group.stream(), tokens);
    tokens.push(token(close, group.span_close().start()));
}

fn token(text: &str, at: LineColumn) -> Token {
    Token { text: text.to_owned(), line: at.line }
}

/// Where the pattern's tokens follow one another: the first token of each match.
pub(crate) fn find<'a>(tokens: &'a [Token], pattern: &[&str]) -> Vec<&'a Token> {
    let windows = tokens.windows(pattern.len());
    let matches = windows.filter(|window| window.iter().map(|token| &token.text).eq(pattern));
    matches.map(|window| &window[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str, pattern: &[&str]) -> Vec<usize> {
        find(&tokens(source).unwrap(), pattern).iter().map(|token| token.line).collect()
    }

    #[test]
    fn a_path_is_found_at_its_line_even_inside_a_group() {
        assert_eq!(lines("fn f() {\n  g(\n    a::b)\n}", &["a", ":", ":", "b"]), [3]);
    }

    #[test]
    fn comments_docs_and_strings_do_not_count() {
        let source = "//! Waker\n/// Waker\n// Waker\n/* Waker */\nconst A: &str = \"Waker\";";
        assert_eq!(lines(source, &["Waker"]), []);
    }

    #[test]
    fn a_broken_file_names_its_line() {
        assert_eq!(tokens("fn f() {}\n}").unwrap_err(), 2);
    }
}
