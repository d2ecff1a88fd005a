//! Rust as a flat list of tokens: comments are gone, strings are one literal, delimiters are tokens too.

use proc_macro2::{Span, TokenStream, TokenTree};

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
        if let TokenTree::Group(group) = tree {
            tokens.push(token(group.span_open()));
            flatten(group.stream(), tokens);
            tokens.push(token(group.span_close()));
        } else {
            tokens.push(token(tree.span()));
        }
    }
}

fn token(span: Span) -> Token {
    Token { text: span.source_text().expect("its file was just parsed"), line: span.start().line }
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
