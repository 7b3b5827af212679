//! Records on disk: JSON, with the version first.

use super::{Record, VERSION};
use serde::Deserialize;
use situ_core::{Error, Result, replace_file};
use situ_place::json::from_json;
use std::path::Path;

const HELP: &str = "write one with situ::profile(..) and Record::save, or `situ demo --record FILE`";

/// As much of a file as says whether the rest can be read.
#[derive(Deserialize)]
struct Head {
    version: Option<u32>,
}

impl Record {
    /// Writes it to a file.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_observe::Record;
    /// let file = std::env::temp_dir().join(format!("situ-record-{}.json", std::process::id()));
    /// let record = Record { version: 1, title: "nothing".into(), ..Record::default() };
    /// record.save(&file)?;
    /// assert_eq!(Record::load(&file)?, record);
    /// # std::fs::remove_file(file).ok();
    /// # Ok(()) }
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        replace_file(path, |file| serde_json::to_writer(file, self).map_err(Into::into))
    }

    /// Reads one from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Record> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::file(name.clone(), "", error.to_string(), HELP))?;
        Record::from_json(&text).map_err(|error| match error {
            Error::File(file) => Error::file(name, file.place.unwrap_or_default(), file.why, file.help),
            other => other,
        })
    }

    /// The record as JSON, as a file has it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|_| unreachable!("a record is plain data with names as keys"))
    }

    /// Reads a record from JSON, and checks it.
    pub fn from_json(text: &str) -> Result<Record> {
        let wrong = |place: String, why: String| Error::file("the record", place, why, HELP);
        let at = |error: &serde_json::Error| format!("line {}, column {}", error.line(), error.column());
        let head: Head = serde_json::from_str(text)
            .map_err(|error| wrong(at(&error), format!("it is no JSON object: {error}")))?;
        match head.version {
            Some(version) if version > VERSION => {
                let why = format!("it has version {version}, this situ reads up to version {VERSION}");
                return Err(Error::file(
                    "the record",
                    "",
                    why,
                    "read it with the situ that wrote it, or a newer one",
                ));
            }
            Some(_) => {}
            None => {
                return Err(wrong(String::new(), "it has no version: it is no record of situ".to_string()));
            }
        }
        let record: Record = from_json(text)
            .map_err(|error| wrong(at(&error), format!("it is no record of situ: {error}")))?;
        record.check().map_err(|why| wrong(String::new(), format!("it contradicts itself: {why}")))?;
        Ok(record)
    }

    /// Every number that refers to something must refer to something that is there: readers do not check
    /// again.
    fn check(&self) -> std::result::Result<(), String> {
        let within = |what: &str, index: usize, count: usize| {
            if index < count { Ok(()) } else { Err(format!("{what} {index} of {count}")) }
        };
        let device = |d: usize| within("device", d, self.devices.len());
        let plan_of = |call: usize| -> std::result::Result<&super::PlanRecord, String> {
            let call = self.calls.get(call).ok_or_else(|| format!("call {call} of {}", self.calls.len()))?;
            self.plans.get(call.plan).ok_or_else(|| format!("plan {} of {}", call.plan, self.plans.len()))
        };
        for plan in &self.plans {
            let node = |n: usize| within("node", n, plan.nodes.len());
            for (number, each) in plan.nodes.iter().enumerate() {
                device(each.device)?;
                each.inputs.iter().try_for_each(|i| within("input", i.node, number))?;
                each.costs.iter().chain(&each.narrow_costs).try_for_each(|c| device(c.device))?;
                each.alternatives.iter().try_for_each(|a| device(a.device))?;
                each.alternatives
                    .iter()
                    .filter_map(|a| a.over.as_ref())
                    .try_for_each(|o| device(o.device))?;
            }
            plan.results.iter().try_for_each(|n| node(*n))?;
            plan.memory.iter().try_for_each(|m| device(m.device))?;
            for copy in &plan.copies {
                device(copy.from)?;
                device(copy.to)?;
                node(copy.consumer)?;
                copy.producer.map_or(Ok(()), node)?;
            }
        }
        (0..self.calls.len()).try_for_each(|call| plan_of(call).map(|_| ()))?;
        self.eager.iter().try_for_each(|e| device(e.device))?;
        for launch in &self.launches {
            device(launch.device)?;
            launch.pass.map_or(Ok(()), |pass| within("pass", pass, self.passes.len()))?;
            match launch.op {
                super::OpRef::Node { call, node } => within("node", node, plan_of(call)?.nodes.len())?,
                super::OpRef::Eager { eager } => within("eager op", eager, self.eager.len())?,
            }
        }
        self.passes.iter().try_for_each(|pass| device(pass.device))?;
        for copy in &self.copies {
            device(copy.from)?;
            device(copy.to)?;
            match (copy.call, copy.planned) {
                (Some(call), Some(planned)) => within("copy", planned, plan_of(call)?.copies.len())?,
                (None, Some(planned)) => return Err(format!("copy {planned} of no call")),
                (Some(call), None) => plan_of(call).map(|_| ())?,
                (None, None) => {}
            }
        }
        for wait in &self.waits {
            device(wait.device)?;
            let nodes = plan_of(wait.call)?.nodes.len();
            within("node", wait.node, nodes)?;
            wait.waited_for.iter().try_for_each(|n| within("node", *n, nodes))?;
        }
        self.memory.iter().try_for_each(|sample| device(sample.device))?;
        self.fallbacks.iter().try_for_each(|f| device(f.device))?;
        for finding in &self.findings {
            let nodes = match finding.plan {
                Some(plan) => self.plans.get(plan).ok_or_else(|| format!("plan {plan}"))?.nodes.len(),
                None => 0,
            };
            finding.nodes.iter().try_for_each(|n| within("node", *n, nodes))?;
            finding.eager.iter().try_for_each(|e| within("eager op", *e, self.eager.len()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_record_is_an_error_that_says_so() {
        let error = |text: &str| Record::from_json(text).unwrap_err().to_string();
        assert!(error("nonsense").contains("no JSON"), "{}", error("nonsense"));
        assert!(error("{}").contains("no version"));
        assert!(error("{\"version\": 99}").contains("up to version 2"));
        assert!(error("{\"version\": 1}").contains("missing field"));
        let missing = Record::load("no/such/file.json").unwrap_err().to_string();
        assert!(missing.contains("no/such/file.json"), "{missing}");
    }

    #[test]
    fn a_record_that_refers_to_what_is_not_there_is_refused() {
        let call = super::super::Call { plan: 3, number: 0, thread: 0, start: 0.0, end: 1.0 };
        let record = Record { version: 1, calls: vec![call], ..Record::default() };
        let error = Record::from_json(&record.to_json()).unwrap_err().to_string();
        assert!(error.contains("plan 3 of 0"), "{error}");
    }
}
