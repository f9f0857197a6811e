//! A finished trace: as a table, and as JSON that Perfetto and Chrome's `about:tracing` read.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::operation::op::NO_STEP;
use crate::tracing::event::{Event, What};
use crate::tracing::recorder::Session;
use crate::types::spec::Name;

/// What was recorded between [`start_trace`](crate::Engine::start_trace) and
/// [`stop_trace`](crate::Engine::stop_trace).
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().workers(2).build();
/// engine.start_trace();
/// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
/// engine.wait_for_all()?;
/// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
/// assert!(!trace.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    began: Instant,
    dropped: u64,
    threads: Vec<(String, Vec<Event>)>,
}

/// All operations of one name, of one kind.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().workers(2).build();
/// engine.start_trace();
/// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
/// engine.wait_for_all()?;
/// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
/// let rows = trace.summary();
/// let row = rows.iter().find(|row| row.name == "work").ok_or("no such row")?;
/// assert_eq!((row.category, row.count), ("operation", 1));
/// assert!(row.min <= row.max && row.max <= row.total);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// `operation`, `delete`, `wait`, or the category of the user's own spans.
    pub category: &'static str,
    /// The kind of the name they were pushed with.
    pub name: &'static str,
    /// How many ended.
    pub count: u64,
    /// Time that they took, summed. Of an asynchronous operation: until it was completed.
    pub total: Duration,
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// An operation's events, found by the address of its block.
#[derive(Clone, Copy, Default)]
struct Story {
    number: u64,
    push: Option<Instant>,
    start: Option<Event>,
}

/// An event and what the events before it on the same address say about it.
struct Line<'a> {
    thread: usize,
    event: &'a Event,
    /// Number of the operation, of pushes and beginnings.
    number: u64,
    /// Of a push or a beginning: the name of what it leads to, if that was recorded, too.
    leads_to: Option<Name>,
    /// Number of the operation, if its push was recorded and this is the first event after it.
    pushed: Option<(u64, Instant)>,
    /// For the completion of an asynchronous operation: when its function was called.
    started: Option<(u64, Event)>,
}

impl Trace {
    pub(crate) fn of(session: &Session) -> Self {
        let threads = session.buffers().into_iter();
        Self {
            began: session.began,
            dropped: session.dropped(),
            threads: threads
                .map(|buffer| (buffer.name().to_owned(), buffer.read()))
                .collect(),
        }
    }

    /// Number of events.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// engine.start_trace();
    /// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// assert!(trace.len() >= 2, "a push and a run");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.threads.iter().map(|(_, events)| events.len()).sum()
    }

    /// Whether nothing was recorded.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// assert!(engine.stop_trace().is_some_and(|trace| trace.is_empty()));
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of events that there was no room for.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// engine.start_trace();
    /// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// assert_eq!(trace.dropped(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Events in order of time, with their pushes.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::with_capacity(self.len());
        for (thread, (_, events)) in self.threads.iter().enumerate() {
            lines.extend(events.iter().map(|event| Line {
                thread,
                event,
                number: 0,
                leads_to: None,
                pushed: None,
                started: None,
            }));
        }
        lines.sort_by_key(|line| line.event.begin);
        let mut stories: HashMap<(usize, u32), Story> = HashMap::new();
        let mut number = 0;
        let (mut runs, mut ends) = (HashMap::new(), HashMap::new());
        for line in &mut lines {
            let event = line.event;
            if event.op == 0 {
                continue;
            }
            let story = stories.entry((event.op, event.step)).or_default();
            match event.what {
                What::Push => {
                    number += 1;
                    *story = Story {
                        number,
                        push: Some(event.begin),
                        start: None,
                    };
                    line.number = number;
                    continue;
                }
                What::Begin => {
                    if event.step != NO_STEP {
                        number += 1; // Steps are not pushed.
                        story.number = number;
                    }
                    story.start = Some(*event);
                    line.number = story.number;
                    continue;
                }
                What::Complete => {
                    let number = story.number;
                    line.started = story.start.take().map(|start| (number, start));
                    ends.extend(line.started.map(|(number, _)| (number, event.name)));
                }
                _ => {}
            }
            line.pushed = story.push.take().map(|at| (story.number, at));
            runs.extend(line.pushed.map(|(number, _)| (number, event.name)));
        }
        for line in &mut lines {
            line.leads_to = match line.event.what {
                What::Push => runs.get(&line.number).copied(),
                What::Begin => ends.get(&line.number).copied(),
                _ => None,
            };
        }
        lines
    }

    /// One row per name, in order of time taken, the longest first.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// engine.start_trace();
    /// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// for row in trace.summary() {
    ///     println!("{:20} {:6} {:?}", row.name, row.count, row.total);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn summary(&self) -> Vec<Summary> {
        let mut rows: BTreeMap<(&'static str, &'static str), Summary> = BTreeMap::new();
        for line in self.lines() {
            let event = line.event;
            let begin = match (event.what, line.started) {
                (What::Push | What::Begin | What::Start | What::Skip, _)
                | (What::Mark(_) | What::Count(..), _)
                | (What::Complete, None) => continue,
                (What::Complete, Some((_, start))) => start.begin,
                _ => event.begin,
            };
            let time = event.end.saturating_duration_since(begin);
            let (category, name) = (category(event.what), event.name.kind());
            let row = rows.entry((category, name)).or_insert(Summary {
                category,
                name,
                count: 0,
                total: Duration::ZERO,
                min: time,
                max: time,
            });
            row.count += 1;
            row.total += time;
            row.min = row.min.min(time);
            row.max = row.max.max(time);
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.total));
        rows
    }

    /// Writes an object of Chrome's trace event format. Each function that ran is a slice on its
    /// thread, with an arrow from its push; an asynchronous operation is also a bar of its own,
    /// until its completion.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// engine.start_trace();
    /// engine.push_sync(&OpSpec::new("work"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// let mut json = Vec::new();
    /// trace.write_chrome_json(&mut json)?;
    /// assert!(String::from_utf8(json)?.contains("\"name\":\"work\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn write_chrome_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let pid = std::process::id();
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n\
             {{\"ph\":\"M\",\"pid\":{pid},\"tid\":0,\"ts\":0,\"name\":\"process_name\",\
             \"args\":{{\"name\":\"ferromix\"}}}}"
        )?;
        for (tid, (name, _)) in self.threads.iter().enumerate() {
            write!(
                out,
                ",\n{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{},\"ts\":0,\"name\":\"thread_name\",\
                 \"args\":{{\"name\":\"{}\"}}}}",
                tid + 1,
                Escaped(name)
            )?;
        }
        for line in self.lines() {
            self.write_line(out, pid, &line)?;
        }
        writeln!(out, "\n]}}")
    }

    fn write_line(&self, out: &mut dyn Write, pid: u32, line: &Line<'_>) -> io::Result<()> {
        let event = line.event;
        // All at the beginning of the event, so that the times of a thread never go back.
        let named = |out: &mut dyn Write, ph: &str, category: &str, name: Name| {
            write!(
                out,
                ",\n{{\"ph\":\"{ph}\",\"pid\":{pid},\"tid\":{},\"ts\":{},\"cat\":\"{}\",\"name\":\"{}\"",
                line.thread + 1,
                self.micros(event.begin),
                Escaped(category),
                Escaped(name.kind())
            )
        };
        let head = |out: &mut dyn Write, ph, category: &str| named(out, ph, category, event.name);
        let kind = category(event.what);
        match event.what {
            What::Begin if line.leads_to.is_none() => return Ok(()),
            What::Begin => {
                head(out, "b", "asynchronous")?;
                return write!(out, ",\"id\":{}}}", line.number);
            }
            What::Complete => {
                let Some((number, _)) = line.started else {
                    return Ok(());
                };
                head(out, "e", "asynchronous")?;
                return write!(out, ",\"id\":{number}}}");
            }
            What::Mark(_) => {
                head(out, "i", kind)?;
                return write!(out, ",\"s\":\"t\"}}");
            }
            What::Count(_, bits) => {
                head(out, "C", kind)?;
                let value = f64::from_bits(bits);
                let value = if value.is_finite() { value } else { 0.0 };
                return write!(out, ",\"args\":{{\"value\":{value}}}}}");
            }
            _ => {}
        }
        if let Some((number, _)) = line.pushed {
            head(out, "f", "push")?;
            write!(out, ",\"bp\":\"e\",\"id\":{number}}}")?;
        }
        head(out, "X", kind)?;
        let took = event.end.saturating_duration_since(event.begin);
        write!(out, ",\"dur\":{},\"args\":{{", Micros(took))?;
        let mut comma = "";
        if event.name.kind() != event.name.as_str() {
            write!(out, "\"node\":\"{}\"", Escaped(event.name.as_str()))?;
            comma = ",";
        }
        if let Some(lane) = event.lane {
            write!(out, "{comma}\"queue\":\"{}\"", lane.label())?;
            comma = ",";
        }
        if event.op != 0 && event.tag != 0 {
            write!(out, "{comma}\"tag\":{}", event.tag)?;
            comma = ",";
        }
        if let Some((_, at)) = line.pushed {
            let waited = event.begin.saturating_duration_since(at);
            write!(out, "{comma}\"since_push_us\":{}", Micros(waited))?;
        }
        write!(out, "}}}}")?;
        if let Some(name) = line.leads_to {
            named(out, "s", "push", name)?;
            write!(out, ",\"id\":{}}}", line.number)?;
        }
        Ok(())
    }

    fn micros(&self, at: Instant) -> Micros {
        Micros(at.saturating_duration_since(self.began))
    }
}

fn category(what: What) -> &'static str {
    match what {
        What::Push => "push",
        What::Run | What::Begin | What::Start | What::Complete | What::Step => "operation",
        What::Skip => "skipped",
        What::Delete => "delete",
        What::Wait => "wait",
        What::Span(name) | What::Mark(name) | What::Count(name, _) => name.as_str(),
    }
}

/// A time in microseconds, exact.
struct Micros(Duration);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// Text inside quotes.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => {
                    f.write_char('\\')?;
                    f.write_char(c)?;
                }
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
