//! A function as it was compiled: its graph, where every node runs and why, and what was expected of it.
//!
//! The one description of a plan: `describe` makes it, records keep it, files have it as it is, and the
//! report page draws it. Devices are positions in a list that whoever keeps the description has, nodes
//! positions in the plan. A change of a field is a change of the file format: see
//! `situ_observe::record::VERSION`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use situ_core::{DeviceSpec, Rule};
use situ_place::GraphFile;

/// One compiled form of a function.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The function: its name, or the line that made it.
    pub function: String,
    /// The types of its arguments.
    pub signature: String,
    /// What the scopes around the call asked for; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested: String,
    /// The nodes of the graph that runs, each after what it reads.
    pub nodes: Vec<Node>,
    /// The nodes whose values leave the call: results and new values of variables.
    pub results: Vec<usize>,
    /// The copies of a call.
    pub copies: Vec<PlannedCopy>,
    /// How many lanes of steps run at once.
    pub lanes: usize,
    /// Seconds that a call was expected to take when it was placed.
    pub predicted: f64,
    /// Seconds that a call was expected to take at the end, by what was measured meanwhile.
    pub expected: f64,
    /// Seconds that no placement can beat, by the same costs.
    pub lower_bound: f64,
    /// The algorithm that placed it.
    pub algorithm: String,
    /// The memory that was expected to be needed, by device.
    pub memory: Vec<PlannedMemory>,
    /// What the compiler's passes did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<String>,
    /// The costs that it was placed by, as `situ place` reads them. Its nodes are those with a
    /// [`Node::cost_id`].
    pub costs: GraphFile,
}

impl PlanRecord {
    /// How far the prediction may be from the best placement, as a share of it; zero: it is the best.
    pub fn gap(&self) -> f64 {
        if self.predicted <= self.lower_bound { 0.0 } else { self.predicted / self.lower_bound - 1.0 }
    }
}

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// An argument of the function.
    Input,
    /// A tensor that the closure captured.
    Capture,
    /// The value of a variable when the call begins.
    Variable,
    /// An op, or several that run as one kernel.
    #[default]
    Op,
    /// A view: another way to look at its input. Nothing runs.
    View,
    /// One of two graphs.
    Cond,
    /// A graph that is repeated.
    While,
}

/// A [`situ_core::Reason`] as a file has it: its rule, what it says, and the device that did not get it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reason {
    /// The rule, by its short name: `requested`, `no kernel`, `faster`.
    #[serde(serialize_with = "write_rule", deserialize_with = "read_rule")]
    pub rule: Rule,
    /// What it says here.
    pub text: String,
    /// The device that was asked for and did not get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

fn write_rule<S: Serializer>(rule: &Rule, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(rule.name())
}

fn read_rule<'de, D: Deserializer<'de>>(from: D) -> Result<Rule, D::Error> {
    let name = String::deserialize(from)?;
    Rule::named(&name).ok_or_else(|| serde::de::Error::custom(format!("there is no rule `{name}`")))
}

impl From<&situ_core::Reason> for Reason {
    fn from(reason: &situ_core::Reason) -> Reason {
        let wanted = reason.wanted().map(|device| device.to_string());
        Reason { rule: reason.rule(), text: reason.to_string(), wanted }
    }
}

/// One op of the program that became part of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Part {
    /// The op's name.
    pub op: String,
    /// The names around its call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The line of the program.
    pub source: String,
}

/// What a node reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Input {
    /// The node that made it.
    pub node: usize,
    /// How many bytes it reads of it.
    pub bytes: u64,
}

/// What a node takes on a device.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceCost {
    /// The device that would run it.
    pub device: usize,
    /// Seconds, once its inputs are there.
    pub seconds: f64,
}

/// What another device would change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alternative {
    /// The device that could run it instead.
    pub device: usize,
    /// The change of the whole call's time with this node there and all else as it is.
    pub seconds: f64,
    /// The memory that would then be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
}

/// Memory that is missing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Over {
    /// The device that would not have it.
    pub device: usize,
    /// How many bytes are missing.
    pub bytes: u64,
}

/// One node of the graph that runs: its place, why it is there, and what it takes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The op; of a joined node, the name of the joined kernel.
    pub op: String,
    /// The names around its call: `encoder/dense`, `gradient/encoder/dense`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The ops of the program that it does, where it does several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The dtype of its first output.
    pub dtype: String,
    /// The shape of its first output.
    pub shape: Vec<usize>,
    /// Bytes of all its outputs.
    pub output_bytes: u64,
    /// What it reads.
    pub inputs: Vec<Input>,
    /// The device that scopes asked for; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested: String,
    /// Where it runs.
    pub device: usize,
    /// Why it runs there.
    pub reason: Reason,
    /// When it was expected to start, in seconds from the call.
    pub start: f64,
    /// How long it was expected to take.
    pub seconds: f64,
    /// What it would take on every device that has the kernel, whether or not scopes allow it there: by what
    /// was measured, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<DeviceCost>,
    /// What it would take with 64-bit types halved, on devices that have that kernel and not its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrow_costs: Vec<DeviceCost>,
    /// What moving it to another device that may run it would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// Its id in [`PlanRecord::costs`], if it is a node there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_id: Option<i64>,
    /// The line of the program.
    pub source: String,
}

impl Node {
    /// Whether it is not where it was asked to be. A limit that placement met is no fallback: nobody asked
    /// for the device that is full, or too small.
    pub fn fell_back(&self) -> bool {
        self.reason.rule.is_fallback(!self.requested.is_empty(), false)
    }

    /// Whether something runs for it: it is not given, and no mere view.
    pub fn runs(&self) -> bool {
        matches!(self.kind, NodeKind::Op | NodeKind::Cond | NodeKind::While)
    }

    /// What it does: its op, or those of the program that it does as one: `matmul + bias_add + relu`.
    pub fn label(&self) -> String {
        let ops: Vec<&str> = self.parts.iter().map(|part| part.op.as_str()).collect();
        match ops.as_slice() {
            [] => self.op.clone(),
            [first, second, third, rest @ ..] if !rest.is_empty() => {
                format!("{first} + {second} + {third} + {} more", rest.len())
            }
            few => few.join(" + "),
        }
    }

    /// The names around it and what it does: `encoder/dense/matmul`.
    pub fn full_name(&self) -> String {
        full_name(&self.name, &self.label())
    }

    /// The full names of the ops of the program that it does.
    pub fn full_names(&self) -> Vec<String> {
        match self.parts.as_slice() {
            [] => vec![self.full_name()],
            parts => parts.iter().map(|part| full_name(&part.name, &part.op)).collect(),
        }
    }
}

/// An op's name behind the names around it.
pub fn full_name(name: &str, op: &str) -> String {
    if name.is_empty() { op.to_string() } else { format!("{name}/{op}") }
}

/// A copy that every call makes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedCopy {
    /// The node whose value it is; none: what is made dense or given without a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer: Option<usize>,
    /// The node that it is made for; others on the same device read it too.
    pub consumer: usize,
    /// The device that has the value.
    pub from: usize,
    /// The device that needs it.
    pub to: usize,
    /// How many bytes are copied.
    pub bytes: u64,
    /// How long it was expected to take.
    pub seconds: f64,
    /// The line of the program.
    pub source: String,
}

/// What a call needs of a device's memory.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedMemory {
    /// The device whose memory it is.
    pub device: usize,
    /// The most it was expected to hold, arguments and variables included.
    pub peak: u64,
    /// What a call reserves: the arena, and the results.
    pub reserved: u64,
    /// The most that it may hold, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A request as a description has it: empty where nothing was asked for.
pub fn requested(spec: &DeviceSpec) -> String {
    if spec.is_empty() { String::new() } else { format!("{spec:#}") }
}
