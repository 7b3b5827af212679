//! `situ doctor`: what is fine on this machine, what is not, and what to do about it.
//!
//! Looks, and runs one small program on every device; changes nothing.

mod compute;
mod drivers;
mod finding;
mod system;

use crate::screen::{Screen, Tone};
use anyhow::Result;
use comfy_table::Cell;
use finding::{Finding, State};
use serde::Serialize;
use situ::config;
use std::process::ExitCode;

/// Everything that the doctor found.
#[derive(Debug, Serialize)]
struct Diagnosis {
    state: State,
    findings: Vec<Finding>,
}

pub(crate) fn run(screen: &mut Screen, json: bool) -> Result<ExitCode> {
    let diagnosis = Diagnosis::of(findings()?);
    if json {
        screen.json(&diagnosis)?;
    } else {
        diagnosis.show(screen)?;
    }
    Ok(if diagnosis.state == State::Broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn findings() -> Result<Vec<Finding>> {
    let physical = config::list_physical_devices("")?;
    let mut findings = vec![system::versions()];
    findings.extend(system::cpu(&physical[0].description));
    findings.extend(system::memory(&config::list_logical_devices("CPU")?));
    findings.push(system::huge_pages());
    findings.extend(drivers::gpus(&physical, &config::list_logical_devices("GPU")?));
    for device in config::list_logical_devices("")? {
        findings.extend(system::calibration(&device));
        findings.push(compute::check(&device));
    }
    Ok(findings)
}

impl Diagnosis {
    fn of(findings: Vec<Finding>) -> Diagnosis {
        let state = findings.iter().map(|f| f.state).max().unwrap_or(State::Fine);
        Diagnosis { state, findings }
    }

    fn show(&self, screen: &mut Screen) -> Result<()> {
        let rows = self.findings.iter().map(|f| {
            let tone = match f.state {
                State::Fine => Tone::Good,
                State::Note => Tone::Mind,
                State::Broken => Tone::Bad,
            };
            let found = match &f.advice {
                Some(advice) => format!("{}\n→ {advice}", f.found),
                None => f.found.clone(),
            };
            vec![screen.toned(f.state.word(), tone), Cell::new(f.topic), Cell::new(found)]
        });
        let rows = rows.collect();
        screen.table(&["", "what", "found, and what to do"], rows)?;
        let count = |state| self.findings.iter().filter(|f| f.state == state).count();
        screen.line(&match self.state {
            State::Fine => "All is fine.".to_string(),
            State::Note => format!("All works; {} could be better.", count(State::Note)),
            State::Broken => format!("{} broken.", count(State::Broken)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_is_the_diagnosis() {
        let fine = Finding::fine("a", "good");
        let note = Finding::note("b", "so so", "do this");
        assert_eq!(Diagnosis::of(vec![fine, note]).state, State::Note);
        let broken = Finding::broken("c", "bad", "do that");
        assert_eq!(Diagnosis::of(vec![broken, Finding::fine("a", "good")]).state, State::Broken);
    }
}
