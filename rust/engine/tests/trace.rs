//! Traces: every operation is in it once, under its name, with its thread and its push.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use ferromix_engine::{Engine, Kind, Name, OpSpec, Program, Trace, Var};

/// One event of the JSON, which has one per line: its phase, category, name and other fields.
fn events(trace: &Trace) -> Vec<HashMap<String, String>> {
    let mut json = Vec::new();
    trace.write_chrome_json(&mut json).unwrap();
    let text = String::from_utf8(json).unwrap();
    assert!(text.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"));
    assert!(text.ends_with("\n]}\n"));
    let lines = text.lines().filter(|line| line.starts_with("{\"ph\""));
    lines
        .map(|line| {
            let fields = line
                .trim_matches(|c| "{},".contains(c))
                .replace("\"args\":{", "");
            fields
                .split(',')
                .filter_map(|field| field.split_once(':'))
                .map(|(k, v)| (k.trim_matches('"').into(), v.trim_matches('"').into()))
                .collect()
        })
        .collect()
}

fn count(events: &[HashMap<String, String>], ph: &str, cat: &str, name: &str) -> usize {
    let has = |e: &HashMap<String, String>, k: &str, v: &str| e.get(k).is_some_and(|x| x == v);
    events
        .iter()
        .filter(|e| has(e, "ph", ph) && has(e, "cat", cat) && has(e, "name", name))
        .count()
}

#[test]
fn every_operation_is_there_once() {
    for kind in [Kind::Threaded, Kind::Naive] {
        let engine = Engine::builder().kind(kind).workers(2).build();
        let vars: Vec<Var> = (0..8).map(|_| engine.new_variable()).collect();
        let before = OpSpec::new("before");
        engine.push_sync(&before, |_| Ok(())).unwrap();
        engine.wait_for_all().unwrap();
        engine.start_trace();
        for i in 0..1000 {
            let name = ["even", "odd"][i % 2];
            let spec = OpSpec::new(name).tag(i as u64 + 1);
            engine
                .push_sync(&spec.writes(&[vars[i % 8]]), |_| Ok(()))
                .unwrap();
        }
        let (fails, gone) = (engine.new_variable(), engine.new_variable());
        let spec = OpSpec::new("fails");
        engine
            .push_sync(&spec.writes(&[fails]), |_| Err("x".into()))
            .unwrap();
        let spec = OpSpec::new("skipped one");
        engine
            .push_sync(&spec.writes(&[fails]), |_| Ok(()))
            .unwrap();
        engine.delete_variable(gone, || ()).unwrap();
        for _ in 0..5 {
            let spec = OpSpec::new("far");
            engine
                .push_async(&spec, |_, done| {
                    std::thread::spawn(move || done.complete(Ok(())));
                })
                .unwrap();
        }
        assert!(engine.wait_for_all().is_err());
        let trace = engine.stop_trace().unwrap();
        engine.push_sync(&before, |_| Ok(())).unwrap();
        engine.wait_for_all().unwrap();

        let events = events(&trace);
        for (ph, cat, name, expected) in [
            ("X", "operation", "even", 500),
            ("X", "operation", "odd", 500),
            ("s", "push", "even", 500),
            ("f", "push", "odd", 500),
            ("X", "operation", "fails", 1),
            ("X", "skipped", "skipped one", 1),
            ("X", "delete", "delete variable", 1),
            ("X", "operation", "far", 5),
            ("b", "asynchronous", "far", 5),
            ("e", "asynchronous", "far", 5),
            ("X", "wait", "wait for all", 1),
            ("X", "operation", "before", 0),
        ] {
            assert_eq!(count(&events, ph, cat, name), expected, "{ph} {cat} {name}");
        }
        assert_eq!(trace.dropped(), 0);
        let mut tags: Vec<u64> = events
            .iter()
            .filter(|e| e.get("cat").is_some_and(|cat| cat == "operation"))
            .filter_map(|e| e.get("tag")?.parse().ok())
            .collect();
        tags.sort_unstable();
        assert!(tags == (1..=1000).collect::<Vec<_>>());
    }
}

#[test]
fn each_push_belongs_to_its_run() {
    // Blocks are used again all the time here.
    let engine = Engine::builder().workers(2).max_in_flight(64).build();
    engine.start_trace();
    let names: Vec<Name> = (0..500).map(|i| Name::intern(&format!("op {i}"))).collect();
    for name in &names {
        engine.push_sync(&OpSpec::new(*name), |_| Ok(())).unwrap();
    }
    engine.wait_for_all().unwrap();
    let events = events(&engine.stop_trace().unwrap());
    let mut pushes = HashMap::new();
    for event in &events {
        let id = event.get("id").cloned();
        match event["ph"].as_str() {
            "s" => {
                let ts: f64 = event["ts"].parse().unwrap();
                pushes.insert(id, (event["name"].clone(), ts));
            }
            "f" => {
                let (name, ts) = &pushes[&id];
                assert_eq!(*name, event["name"]);
                assert!(*ts <= event["ts"].parse().unwrap());
            }
            _ => {}
        }
    }
    assert_eq!(pushes.len(), 500);
}

#[test]
fn programs_show_their_steps_and_threads_their_names() {
    let engine = Engine::builder().workers(1).build();
    let var = engine.new_variable();
    let writes = [var];
    let step = |name| OpSpec::new(name).writes(&writes);
    let program: Program = Program::builder("pair")
        .op(&step("first"), |_| Ok(()))
        .op(&step("second"), |_| Ok(()))
        .build();
    engine.start_trace();
    for _ in 0..10 {
        engine.launch(&program).unwrap();
    }
    engine.wait_for_all().unwrap();
    let events = events(&engine.stop_trace().unwrap());
    for name in ["first", "second"] {
        assert_eq!(count(&events, "X", "operation", name), 10);
    }
    assert_eq!(count(&events, "s", "push", "first"), 10);
    let threads: Vec<_> = events
        .iter()
        .filter(|e| e["name"].contains("fmx-cpu-run"))
        .collect();
    assert_eq!(threads.len(), 1, "{events:?}");
}

#[test]
fn a_pause_leaves_out_what_happens_meanwhile() {
    let engine = Engine::builder().workers(1).build();
    assert!(engine.trace().is_none() && engine.stop_trace().is_none());
    let push = |name: &'static str| {
        engine.push_sync(&OpSpec::new(name), |_| Ok(())).unwrap();
        engine.wait_for_all().unwrap();
    };
    engine.start_trace();
    push("one");
    engine.pause_trace();
    assert!(!engine.is_tracing());
    push("two");
    engine.resume_trace();
    push("three");
    let names = |trace: &Trace| {
        let mut names: Vec<_> = trace
            .summary()
            .into_iter()
            .filter(|row| row.category == "operation")
            .map(|row| row.name)
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&engine.trace().unwrap()), ["one", "three"]);
    engine.start_trace();
    push("four");
    assert_eq!(names(&engine.stop_trace().unwrap()), ["four"]);
}

#[test]
fn a_full_trace_drops_and_the_engine_goes_on() {
    let engine = Engine::builder().workers(2).build();
    engine.start_trace_of(10_000);
    for _ in 0..50_000 {
        engine.push_sync(&OpSpec::new("x"), |_| Ok(())).unwrap();
    }
    engine.wait_for_all().unwrap();
    let trace = engine.stop_trace().unwrap();
    assert!(trace.len() <= 11_000, "{}", trace.len());
    // A push and a run each, and the wait.
    assert_eq!(trace.len() as u64 + trace.dropped(), 100_001);
}

#[test]
fn times_are_those_of_the_functions() {
    let engine = Engine::builder().workers(1).build();
    engine.start_trace();
    let nap = Duration::from_millis(5);
    for _ in 0..3 {
        engine
            .push_sync(&OpSpec::new("nap"), move |_| {
                std::thread::sleep(nap);
                Ok(())
            })
            .unwrap();
    }
    engine
        .push_async(&OpSpec::new("later"), move |_, done| {
            std::thread::spawn(move || {
                std::thread::sleep(nap);
                done.complete(Ok(()));
            });
        })
        .unwrap();
    engine.wait_for_all().unwrap();
    let rows = engine.stop_trace().unwrap().summary();
    let row = |name: &str| *rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!((row("nap").count, row("later").count), (3, 1));
    assert!(row("nap").min >= nap && row("nap").total >= 3 * nap && row("later").min >= nap);
}

#[test]
fn users_add_what_they_like() {
    let engine = Engine::builder().workers(1).build();
    let (domain, name) = (Name::new("mine"), Name::intern("a \"quoted\"\\\n name"));
    engine.trace_span(domain, name, Instant::now()); // not recorded: off
    engine.start_trace();
    engine.trace_span(domain, name, Instant::now());
    engine.trace_mark(domain, Name::new("here"), Duration::ZERO);
    engine.trace_counter(domain, Name::new("level"), 2.5);
    let trace = engine.stop_trace().unwrap();
    let mut json = Vec::new();
    trace.write_chrome_json(&mut json).unwrap();
    let text = String::from_utf8(json).unwrap();
    assert!(
        text.contains(r#""name":"a \"quoted\"\\\u000a name""#),
        "{text}"
    );
    assert!(text.contains(r#""ph":"i""#) && text.contains(r#""args":{"value":2.5}"#));
    assert_eq!(trace.len(), 3);
}

#[test]
fn names_of_a_kind_are_counted_together() {
    let engine = Engine::builder().workers(1).build();
    engine.start_trace();
    for name in [
        Name::intern_of("layer", "layer 1"),
        Name::intern_of("layer", "layer 2"),
        Name::intern("layer 1"),
    ] {
        engine.push_sync(&OpSpec::new(name), |_| Ok(())).unwrap();
    }
    engine.wait_for_all().unwrap();
    let trace = engine.stop_trace().unwrap();
    let rows = trace.summary();
    let ran = rows.iter().filter(|row| row.category == "operation");
    let mut counts: Vec<_> = ran.map(|row| (row.name, row.count)).collect();
    counts.sort_unstable();
    assert_eq!(counts, [("layer", 2), ("layer 1", 1)]);
    let nodes = events(&trace)
        .into_iter()
        .filter(|e| e["ph"] == "X" && e.get("cat").is_some_and(|cat| cat == "operation"))
        .filter_map(|mut e| e.remove("node"));
    assert_eq!(nodes.collect::<Vec<_>>(), ["layer 1", "layer 2"]);
}

#[test]
fn times_of_a_thread_never_go_back() {
    let engine = Engine::builder().workers(2).build();
    let vars: Vec<Var> = (0..4).map(|_| engine.new_variable()).collect();
    engine.start_trace();
    for i in 0..200 {
        let spec = OpSpec::new("near");
        engine
            .push_sync(&spec.writes(&[vars[i % 4]]), |_| Ok(()))
            .unwrap();
        let spec = OpSpec::new("far");
        engine
            .push_async(&spec.writes(&[vars[(i + 1) % 4]]), |_, done| {
                std::thread::spawn(move || done.complete(Ok(())));
            })
            .unwrap();
    }
    engine.wait_for_all().unwrap();
    let events = events(&engine.stop_trace().unwrap());
    let mut last = HashMap::new();
    for event in events.iter().filter(|e| e["ph"] != "M") {
        let at: f64 = event["ts"].parse().unwrap();
        let before = last.insert(event["tid"].clone(), at).unwrap_or(0.0);
        assert!(before <= at, "{before} is before {event:?}");
    }
}

#[test]
fn traces_start_and_stop_among_running_operations() {
    let engine = Engine::builder().workers(2).build();
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (engine, stop) = (engine.clone(), stop.clone());
            scope.spawn(move || {
                let var = engine.new_variable();
                while !stop.load(SeqCst) {
                    let spec = OpSpec::new("busy");
                    engine.push_sync(&spec.writes(&[var]), |_| Ok(())).unwrap();
                }
            });
        }
        let mut most = 0;
        for _ in 0..30 {
            engine.start_trace_of(100_000);
            std::thread::sleep(Duration::from_millis(2));
            let trace = engine.trace().unwrap();
            let rows = engine.stop_trace().unwrap().summary();
            most = most.max(trace.len());
            assert!(rows.iter().all(|row| row.name == "busy"));
        }
        stop.store(true, SeqCst);
        assert!(most > 0);
    });
    engine.wait_for_all().unwrap();
}
