//! The page as HTML: the lines of the text, with a hanging indent for narrow screens.

/// How often a browser looks again, in seconds: within the time of which figures are recent.
const REFRESH: u32 = 10;

/// Returns the page with this text.
pub(super) fn page(text: &str) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>bulkheads</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n\
         <style>body{{font:13px/1.4 monospace}}p{{margin:0;min-height:1.4em;overflow-wrap:anywhere;white-space:pre-wrap;\
         padding-left:14ch;text-indent:-14ch}}</style></head><body>\n"
    );
    for line in text.lines() {
        html.push_str("<p>");
        for character in line.chars() {
            match character {
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '&' => html.push_str("&amp;"),
                _ => html.push(character),
            }
        }
        html.push_str("</p>\n");
    }
    html.push_str("</body></html>\n");
    html
}
