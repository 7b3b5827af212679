//! What a model is made of: a table of its layers, as data and as text.

use crate::{Layer, Sequential, Weight};
use situ_core::reason::bytes;
use situ_core::{DeviceId, DeviceSpec, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where a layer is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Whereabouts {
    /// Its weights are on these devices.
    Weights(Vec<DeviceId>),
    /// It has no weights, and its ops ask for this.
    Asked(DeviceSpec),
    /// It has no weights, and its ops run wherever they are done soonest.
    Auto,
}

/// What there is to know of one layer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryRow {
    /// Its name in the model.
    pub name: String,
    /// What it is; empty where only its weights are known.
    pub kind: &'static str,
    /// The shape of what it gives, the first size of which is the batch; `None` until it is built.
    pub output: Option<Shape>,
    /// Numbers that training changes.
    pub trainable: usize,
    /// Numbers that it does not change.
    pub fixed: usize,
    /// Where it is.
    pub device: Whereabouts,
}

/// What a model is made of. Its text is a table.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, Dense, Flatten, Layer, Maker, Sequential};
/// let model = Sequential::new()
///     .add(Flatten::new())
///     .add(Dense::new(128).activation(Activation::Relu))
///     .add(Dense::new(10))
///     .built(&[28, 28], &mut Maker::new(1))?;
/// let summary = model.summary();
/// assert_eq!(summary.rows[1].trainable, 784 * 128 + 128);
/// assert_eq!(summary.parameters(), 101_770);
/// println!("{summary}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Its layers, in their order.
    pub rows: Vec<SummaryRow>,
    /// Bytes of weights on each device.
    pub bytes: BTreeMap<DeviceId, usize>,
}

impl Summary {
    /// Of a model of one's own, by its weights: a row for each layer that has any.
    pub fn of_weights(weights: &[Weight]) -> Summary {
        let mut rows: Vec<SummaryRow> = Vec::new();
        let layer_of = |weight: &Weight| match weight.name.rsplit_once('/') {
            Some((layer, _)) => layer.to_owned(),
            None => weight.name.clone(),
        };
        let mut names: Vec<String> = Vec::new();
        for weight in weights {
            let name = layer_of(weight);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            let its: Vec<Weight> = weights.iter().filter(|w| layer_of(w) == name).cloned().collect();
            rows.push(SummaryRow::new(name, "", None, &its, Whereabouts::Auto));
        }
        Summary { rows, bytes: bytes_of(weights) }
    }

    /// All numbers that it holds.
    pub fn parameters(&self) -> usize {
        self.rows.iter().map(|row| row.trainable + row.fixed).sum()
    }

    /// Those that training changes.
    pub fn trainable(&self) -> usize {
        self.rows.iter().map(|row| row.trainable).sum()
    }
}

impl SummaryRow {
    fn new(
        name: String,
        kind: &'static str,
        output: Option<Shape>,
        weights: &[Weight],
        without_weights: Whereabouts,
    ) -> SummaryRow {
        let count = |trainable: bool| {
            let its = weights.iter().filter(|w| w.trainable == trainable);
            its.map(|w| w.variable.shape().elements()).sum()
        };
        let devices: BTreeSet<DeviceId> = weights.iter().map(|w| w.variable.device()).collect();
        let device = match devices.is_empty() {
            true => without_weights,
            false => Whereabouts::Weights(devices.into_iter().collect()),
        };
        SummaryRow { name, kind, output, trainable: count(true), fixed: count(false), device }
    }

    /// Whether it has numbers, and training changes none of them.
    pub fn is_frozen(&self) -> bool {
        self.fixed > 0 && self.trainable == 0
    }

    fn of_layer(name: &str, layer: &dyn Layer, output: Option<Shape>) -> SummaryRow {
        let asked = layer.identity().map(|identity| identity.site().request().spec.clone());
        let without_weights = match asked {
            Some(spec) if !spec.is_empty() => Whereabouts::Asked(spec),
            _ => Whereabouts::Auto,
        };
        let name = match (name, layer.identity().and_then(|identity| identity.given())) {
            ("", Some(given)) => given,
            (name, _) => name,
        };
        SummaryRow::new(name.to_owned(), layer.kind(), output, &layer.weights(), without_weights)
    }
}

fn bytes_of(weights: &[Weight]) -> BTreeMap<DeviceId, usize> {
    let mut held = BTreeMap::new();
    for weight in weights {
        *held.entry(weight.variable.device()).or_default() += weight.variable.tensor_type().bytes();
    }
    held
}

impl Sequential {
    /// Its layers with their shapes, numbers and devices. Before it is built, shapes and numbers are not
    /// known.
    pub fn summary(&self) -> Summary {
        let row = |(name, layer, output): (&str, &dyn Layer, Option<&Shape>)| {
            SummaryRow::of_layer(name, layer, output.copied())
        };
        Summary { rows: self.outputs().map(row).collect(), bytes: bytes_of(&crate::Model::weights(self)) }
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whereabouts::Weights(devices) => {
                for (at, device) in devices.iter().enumerate() {
                    write!(f, "{}{device}", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Whereabouts::Asked(spec) => write!(f, "{spec:#}"),
            Whereabouts::Auto => f.write_str("auto"),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = vec![["layer", "output", "parameters", "device"].map(String::from)];
        for row in &self.rows {
            let layer = match (row.name.as_str(), row.kind) {
                (name, "") => name.to_owned(),
                ("", kind) => kind.to_owned(),
                (name, kind) => format!("{name} ({kind})"),
            };
            let parameters = grouped(row.trainable + row.fixed);
            let frozen = if row.is_frozen() { ", frozen" } else { "" };
            table.push([
                layer,
                shape_text(row.output.as_ref()),
                parameters,
                format!("{}{frozen}", row.device),
            ]);
        }
        let width = |column: usize| table.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let [layer, output, parameters, device] = [0, 1, 2, 3].map(width);
        for (number, line) in table.iter().enumerate() {
            let text =
                format!("{:layer$}  {:output$}  {:>parameters$}  {}", line[0], line[1], line[2], line[3]);
            writeln!(f, "{}", text.trim_end())?;
            if number == 0 {
                writeln!(f, "{}", "─".repeat(layer + output + parameters + device + 6))?;
            }
        }
        let (all, trainable) = (self.parameters(), self.trainable());
        write!(f, "{} parameters, {} of them trainable", grouped(all), grouped(trainable))?;
        for (at, (device, held)) in self.bytes.iter().enumerate() {
            write!(f, "{}{} on {device}", if at == 0 { "; " } else { ", " }, bytes(*held))?;
        }
        Ok(())
    }
}

fn shape_text(shape: Option<&Shape>) -> String {
    let Some(shape) = shape else { return "?".into() };
    let sizes = shape.dims().iter().enumerate();
    let sizes: Vec<String> =
        sizes.map(|(at, size)| if at == 0 { "?".into() } else { size.to_string() }).collect();
    format!("[{}]", sizes.join(", "))
}

/// 101770 as 101,770.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
