//! Records at the command line: commands that run programs write them, `situ view` and `situ why` read them.

use crate::args::{RecordTo, View, Why};
use crate::browser;
use crate::screen::Screen;
use anyhow::{Result, bail};
use situ::observe::{Pattern, Profiler, Record};

impl RecordTo {
    /// Whether anything is to be written.
    fn is_wanted(&self) -> bool {
        self.record.is_some() || self.trace.is_some() || self.report.is_some() || self.tensorboard.is_some()
    }

    /// Runs a part of a command, and writes what was asked for about it.
    pub(crate) fn during<T>(&self, title: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.is_wanted() {
            return body();
        }
        // A report is to be looked at op by op.
        let profiling = Profiler::new().detailed().title(title).start();
        let value = body()?;
        self.write(&profiling.finish())?;
        Ok(value)
    }

    /// Each file that was asked for.
    fn write(&self, record: &Record) -> Result<()> {
        if let Some(path) = &self.record {
            record.save(path)?;
        }
        if let Some(path) = &self.trace {
            record.save_trace(path)?;
        }
        if let Some(path) = &self.report {
            record.save_page(path)?;
            eprintln!("situ: the report is in {}", path.display());
        }
        if let Some(folder) = &self.tensorboard {
            record.save_tensorboard(folder)?;
            eprintln!("situ: tensorboard --logdir {}", folder.display());
        }
        Ok(())
    }
}

/// `situ view`: what a record says, as a page or as text.
pub(crate) fn view(screen: &mut Screen, args: &View) -> Result<()> {
    let record = Record::load(&args.record)?;
    if args.output.json {
        return screen.json(&record);
    }
    if args.text {
        return screen.line(record.tables().trim_end());
    }
    let page = args.out.clone().unwrap_or_else(|| args.record.with_extension("html"));
    record.save_page(&page)?;
    screen.line(&format!("the report is in {}", page.display()))?;
    if !args.no_open {
        browser::open(&page)?;
    }
    Ok(())
}

/// `situ why`: what a record says of some of its ops.
pub(crate) fn why(screen: &mut Screen, args: &Why) -> Result<()> {
    let record = Record::load(&args.record)?;
    let text = record.why(&Pattern::new(&args.op));
    if text.is_empty() {
        let names = record.op_names();
        let some = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        bail!("no op matches {}; there are {} ops, such as {some}", args.op, names.len());
    }
    screen.line(text.trim_end())
}
