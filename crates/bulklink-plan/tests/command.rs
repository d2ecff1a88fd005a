//! The program as it is.

#![cfg(feature = "command")]

use std::process::{Command, Output};

use serde_json::Value;

const ASK: &str = "--rate 500/s --hold p50=20ms,p99=200ms --deadline 250ms --refuse 1% --budget 100000";

fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulklink-plan"));
    command.args(words.split_whitespace());
    command
}

fn run(words: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// The numbers of a text are replaced, because they are those of the simulation.
fn without_numbers(text: &str) -> String {
    let mut found = String::new();
    for char in text.chars() {
        match char {
            '0'..='9' if found.ends_with('#') => {}
            '0'..='9' => found.push('#'),
            '.' if found.ends_with('#') => {
                found.pop();
                found.push('#');
            }
            _ => found.push(char),
        }
    }
    found
}

#[test]
fn a_plan_is_printed_with_what_wrong_assumptions_cost() {
    let (code, text, errors) = run(ASK);
    assert_eq!((code, &*errors), (Some(0), ""));
    let form = "\
parallelism #   waiting room #   wait limit # ms
  rejected  # % ± # (# %)   no room #, too late #
  wait      p# # ms, p# # ms
  in time   # % ± #   hold alone over # ms: # %
  in use    # of #   offered #
  rooms     from # on, the search saw no difference
if rate +# %               rejected # % ± # (# %), in time # %, needs parallelism #
   rate +# %               rejected # % ± # (# %), in time # %, needs parallelism #
   rate +# %               rejected # % ± # (# %), in time # %, needs parallelism #
   holds +# %              rejected # % ± # (# %), in time # %, needs parallelism #
   holds +# %              rejected # % ± # (# %), in time # %, needs parallelism #
   holds +# %              rejected # % ± # (# %), in time # %, needs parallelism #
   calls in fours           rejected # % ± # (# %), in time # %, needs parallelism #
   rate #:#, each #ms     rejected # % ± # (# %), in time # %, needs parallelism #
   calls bring the deadline rejected # % ± # (# %), in time # %, needs parallelism #
# simulations, # M calls; seed #
";
    assert_eq!(without_numbers(&text), form, "{text}");
    assert!(
        ["parallelism 16 ", "parallelism 17 ", "parallelism 18 "].iter().any(|head| text.starts_with(head)),
        "{text}"
    );
    assert_eq!(run(ASK).1, text, "the same seed, the same text");
}

#[test]
fn json_has_the_same_figures() {
    let (code, text, errors) = run(&format!("{ASK} --json --seed 7 --burst batch=2"));
    assert_eq!((code, &*errors, text.lines().count()), (Some(0), "", 1));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["complete"], &json["seed"]), (&true.into(), &7.into()));
    let limits = &json["limits"];
    assert!((17..=21).contains(&limits["parallelism"].as_u64().unwrap()), "{text}");
    assert!(limits["waiting_room"].as_u64() >= json["least_waiting_room"].as_u64());
    let part = limits["wait_limit_ns"].as_f64().unwrap() / 250e6;
    assert!([0.125, 0.1875, 0.25, 0.375, 0.5].contains(&part), "{part}");
    let rejected = &json["rejected"];
    let (mean, seen, of) = (rejected["mean"].as_f64().unwrap(), &rejected["seen"], &rejected["of"]);
    assert!(mean <= 0.01 && (mean - seen.as_f64().unwrap() / of.as_f64().unwrap()).abs() < 1e-9, "{text}");
    assert!((json["no_room"].as_f64().unwrap() + json["too_late"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert_eq!((&rejected["level"], &json["in_time"]["level"]), (&0.99.into(), &0.99.into()));
    let what = |what_if: &Value| what_if["what"].as_str().unwrap().to_owned();
    let rows: Vec<_> = json["if"].as_array().unwrap().iter().map(what).collect();
    assert_eq!(rows[6..], ["batches of 4", "calls bring the deadline"]);
    assert!(json["if"][0]["needs"].as_u64() > limits["parallelism"].as_u64(), "{text}");
}

#[test]
fn without_a_deadline_no_call_is_in_time() {
    let (code, text, _) = run("--rate 40/s --hold mean=50ms --budget 20000 --refuse 5%");
    assert_eq!(code, Some(0));
    assert!(text.contains("wait limit 200 ms\n") && !text.contains("in time"), "{text}");
}

#[test]
fn bad_input_is_one_line_with_the_field_and_the_value() {
    for (words, line) in [
        ("", "the following required arguments were not provided: --rate <RATE> --hold <HOLD>"),
        ("--rate 500 --hold mean=1ms", "invalid value '500' for '--rate <RATE>': a rate is as 500/s or 30/m"),
        (
            "--rate 5/s --hold mean=1",
            "invalid value 'mean=1' for '--hold <HOLD>': \"1\" is no time with a unit: us, ms, s or m",
        ),
        (
            "--rate 5/s --hold p50=2ms,p99=1ms",
            "invalid value 'p50=2ms,p99=1ms' for '--hold <HOLD>': p99 must be from 1 to 100 times p50, which is 2ms, got 1ms",
        ),
        ("--rate 0/s --hold mean=1ms", "rate must be from 0.01/s to 1000000/s, got 0/s"),
        ("--rate 5/s --hold mean=1ms --refuse 80%", "rejected must be from 0.0001 to 0.5, got 0.8"),
        ("--rate 5/s --hold mean=1ms --burst 1:0@1s", "ratio of the phases must be from 1 to 100, got inf"),
        ("--rate 5/s --hold mean=1ms --budget 5", "budget must be from 10000 to 20000000, got 5"),
        (
            "--rate 5/s --hold mean=1ms --bring-deadline",
            "the following required arguments were not provided: --deadline <TIME>",
        ),
    ] {
        let expected = (Some(2), String::new(), format!("bulklink-plan: {line}\n"));
        assert_eq!(run(words), expected, "{words}");
    }
}

#[test]
fn help_lists_the_options_and_the_exit_codes() {
    let (code, text, _) = run("--help");
    let all = ["--rate", "--hold", "--deadline", "--refuse", "--burst", "--seed", "--json", "130  ended by Ctrl-C"];
    assert!(code == Some(0) && all.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_leaves_what_is_known_so_far() {
    use std::process::Stdio;
    use std::thread::sleep;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    let interrupted = |after| {
        // A search of minutes.
        let mut search = command(&ASK.replace("--budget 100000", "--budget 20000000 --json"));
        let search = search.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(after);
        kill_process(Pid::from_child(&search), Signal::INT).unwrap();
        search.wait_with_output().unwrap()
    };
    // On a busy machine, the program may not have begun before.
    let mut all = [250, 1_000, 4_000].map(Duration::from_millis).into_iter().map(interrupted);
    let Output { status, stdout, stderr } = all.find(|output| output.status.code().is_some()).unwrap();
    assert_eq!((status.code(), stderr.len()), (Some(130), 0));
    let json: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!((&json["complete"], &json["if"]), (&false.into(), &Value::Array(vec![])));
    assert!((14..=22).contains(&json["limits"]["parallelism"].as_u64().unwrap()), "{json}");
}
