//! Random schedules of writes, against a model of what is read each second.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::{SECOND, Texts, folder, replace};

/// What happens to the file between two reads.
#[derive(Clone, Debug)]
enum Step {
    Rest,
    /// A complete text by a rename.
    Rename(u8),
    /// A complete text in place.
    Write(u8),
    /// The first part of a text, which a writer completes later, or not.
    Part(u8),
    Remove,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Rest),
        2 => (0..4_u8).prop_map(Step::Rename),
        2 => (0..4_u8).prop_map(Step::Write),
        2 => (0..4_u8).prop_map(Step::Part),
        1 => Just(Step::Remove),
    ]
}

impl Step {
    /// Takes the step, and returns the text after it.
    fn take(&self, path: &Path, before: Option<String>) -> Option<String> {
        let complete = |number| format!("text {number}.");
        match self {
            Step::Rest => return before,
            Step::Rename(number) => {
                replace(path, &complete(number));
                return Some(complete(number));
            }
            Step::Write(number) => {
                fs::write(path, complete(number)).unwrap();
                return Some(complete(number));
            }
            Step::Part(number) => fs::write(path, format!("text {number}")).unwrap(),
            Step::Remove => {
                let _ = fs::remove_file(path);
            }
        }
        fs::read_to_string(path).ok()
    }
}

/// What must be applied, given what each read has found: each valid text that two reads in a row
/// have found, unless it is the one that is applied, and nothing was refused since.
fn applied(reads: &[Option<String>]) -> (Vec<String>, u64) {
    let (mut applied, mut refused) = (vec![reads[0].clone().unwrap()], 0);
    let (mut judged, mut is_suspect) = (reads[0].clone(), false);
    for pair in reads.windows(2).filter(|pair| pair[0] == pair[1]) {
        if pair[1] == judged {
            continue;
        }
        judged.clone_from(&pair[1]);
        match &judged {
            Some(text) if text.ends_with('.') => {
                if is_suspect || applied.last() != Some(text) {
                    applied.push(text.clone());
                }
                is_suspect = false;
            }
            Some(_) => (refused, is_suspect) = (refused + 1, true),
            None => refused += 1,
        }
    }
    (applied, refused)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(80) })]

    #[test]
    fn what_is_applied_last_is_the_last_valid_text_that_was_complete(steps in prop::collection::vec(step(), 0..40)) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (path, texts) = (folder().join("a.txt"), Texts::default());
            fs::write(&path, "begin.").unwrap();
            let watch = texts.watch(&path).await;
            sleep(SECOND / 2).await;
            let (mut reads, mut text) = (vec![Some("begin.".to_owned())], Some("begin.".to_owned()));
            for step in &steps {
                text = step.take(&path, text);
                reads.push(text.clone());
                sleep(SECOND).await;
            }
            let (expected, refused) = applied(&reads);
            prop_assert_eq!((texts.all(), watch.status().refused), (expected, refused));

            // At last a text stays, and is the one that is applied.
            replace(&path, "the end.");
            sleep(3 * SECOND).await;
            prop_assert_eq!(texts.all().pop(), Some("the end.".to_owned()));
            prop_assert_eq!(watch.status().refusal, None);
            Ok(())
        })?;
    }
}
