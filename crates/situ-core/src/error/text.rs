//! What errors say.

use super::{
    Argument, Config, CopyForbidden, Data, Element, Fault, File, NoKernel, NoSuchDevice, Operands,
    OutOfMemory, TooLarge, Unmet,
};
use crate::DeviceId;
use crate::reason::{bytes, unlike};
use std::fmt;

/// `; help` where there is help.
fn tail(help: &str) -> String {
    if help.is_empty() { String::new() } else { format!("; {help}") }
}

fn list(devices: &[DeviceId]) -> String {
    devices.iter().map(DeviceId::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.violations.as_slice() {
            [only] => write!(f, "not as expected: {only}"),
            all => {
                write!(f, "not as expected, in {} ways:", all.len())?;
                all.iter().try_for_each(|violation| write!(f, "\n- {violation}"))
            }
        }
    }
}

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.op)?;
        for (i, t) in self.inputs.iter().enumerate() {
            write!(f, "{}{t}", if i == 0 { "" } else { ", " })?;
        }
        write!(f, "): {}{}", self.why, tail(&self.help))
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.op, self.why, tail(&self.help))
    }
}

impl fmt::Display for NoSuchDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no device {}: this process has {}; name one of them, leave the scope out, or allow fallback",
            self.asked,
            list(&self.available)
        )
    }
}

impl fmt::Display for NoKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device {
            Some(device) => write!(f, "{} has no {} kernel on {device}", self.op, self.dtype)?,
            None => write!(f, "{} has no {} kernel on any visible device", self.op, self.dtype)?,
        }
        if self.have.is_empty() {
            write!(f, "; cast the inputs to a dtype that has one")
        } else {
            write!(
                f,
                ", and the fallback policy forbids another device; {} has it: run it there, cast, or allow fallback",
                list(&self.have)
            )
        }
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is too large for {}: {}", self.op, self.device, self.excess)?;
        if self.able.is_empty() {
            write!(f, "; split it into smaller parts")
        } else {
            write!(
                f,
                ", and the fallback policy forbids another device; {} can: run it there, split it into smaller parts, or \
                 allow fallback",
                list(&self.able)
            )
        }
    }
}

impl fmt::Display for CopyForbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs on {} and its input {} is on {}: copying {} is forbidden by the copy policy; copy it with \
             to_device, run the op on {}, or allow copies",
            self.op,
            self.to,
            self.input,
            self.from,
            bytes(self.bytes),
            self.from
        )
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is just over the limit must not look like what is just under it.
        let [requested, limit] = unlike(self.requested as u64, self.limit.unwrap_or(self.requested) as u64);
        write!(f, "out of memory: {} asked for {requested}", self.op)?;
        if let Some(device) = self.device {
            write!(f, " on {device}")?;
        }
        if self.limit.is_some() {
            write!(f, ", limit {limit}")?;
        }
        write!(
            f,
            "; {} reserved, {} in use, largest free piece {}",
            bytes(self.reserved),
            bytes(self.in_use),
            bytes(self.largest_free)
        )?;
        if let Some(cause) = &self.cause {
            write!(f, "; {cause}")?;
        }
        for (i, o) in self.owners.iter().enumerate() {
            write!(
                f,
                "{} {} in {} of {}",
                if i == 0 { "; live:" } else { "," },
                bytes(o.bytes),
                o.count,
                o.name
            )?;
        }
        for (i, r) in self.remedies.iter().enumerate() {
            write!(f, "{}{r}", if i == 0 { "; try: " } else { ", or " })?;
        }
        Ok(())
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::OutOfRange { what, value, limit } if limit <= 0 => {
                write!(
                    f,
                    "{}: {what} {value} at row {} is out of range: the axis is empty",
                    self.op, self.row
                )?;
            }
            Fault::OutOfRange { what, value, limit } => write!(
                f,
                "{}: {what} {value} at row {} is out of range; it must be from 0 to {}",
                self.op,
                self.row,
                limit - 1
            )?,
            Fault::DivisionByZero => {
                write!(
                    f,
                    "{}: integer division by zero at element {}; mask the divisor with where",
                    self.op, self.row
                )?;
            }
        }
        match self.location {
            Some(at) => write!(f, " (called at {at})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of element {}: {}", self.stage, self.index, self.error)
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        write!(f, ": {}{}", self.why, tail(&self.help))
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.asked, self.why, tail(&self.help))
    }
}
