//! What must hold of every graph, between every two passes.

use super::{Content, Graph, Node, NodeId, Value};
use situ_core::{DType, Error, Result, TensorType};

impl Graph {
    /// An error that names the first node that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        for (id, node) in self.iter() {
            self.verify_node(id, node)?;
        }
        for value in self.results() {
            self.verify_value(value, self.nodes.len(), || "a result".to_string())?;
        }
        let mut updated = vec![false; self.variables.len()];
        for &(variable, value) in &self.updates {
            let place = format!("the update of variable {variable}");
            let Some(ty) = self.variables.get(variable as usize) else {
                return Err(broken(&place, "there is no such variable"));
            };
            if std::mem::replace(&mut updated[variable as usize], true) {
                return Err(broken(&place, "it is updated twice"));
            }
            if self.type_of(value) != *ty {
                return Err(broken(
                    &place,
                    &format!("it holds {ty}, the new value is {}", self.type_of(value)),
                ));
            }
        }
        Ok(())
    }

    fn verify_value(&self, value: Value, before: usize, place: impl Fn() -> String) -> Result<()> {
        if value.node.index() >= before {
            return Err(broken(&place(), &format!("{value} is not made before it")));
        }
        if value.slot() >= self.node(value.node).types.len() {
            return Err(broken(&place(), &format!("{value} is an output that its node does not have")));
        }
        Ok(())
    }

    fn verify_node(&self, id: NodeId, node: &Node) -> Result<()> {
        let place = || format!("{id:?} ({})", node.content.name());
        for input in &node.inputs {
            self.verify_value(*input, id.index(), place)?;
        }
        let types: Vec<TensorType> = node.inputs.iter().map(|v| self.type_of(*v)).collect();
        let given = |table: &[TensorType], n: u32| match table.get(n as usize) {
            Some(ty) if node.types.as_slice() == [*ty] && node.inputs.is_empty() => Ok(()),
            Some(ty) => Err(broken(&place(), &format!("it stands for {ty} and says {:?}", node.types))),
            None => Err(broken(&place(), "it stands for something that the graph does not have")),
        };
        match &node.content {
            Content::Input(n) => given(&self.inputs, *n),
            Content::Capture(n) => given(&self.captures, *n),
            Content::Variable(n) => given(&self.variables, *n),
            Content::Op(op) => {
                let outputs = op.infer(&types)?;
                if outputs != node.types {
                    return Err(broken(&place(), &format!("it gives {outputs:?} and says {:?}", node.types)));
                }
                Ok(())
            }
            Content::Cond(cond) => {
                let (Some(test), arguments) = (types.first(), types.get(1..).unwrap_or_default()) else {
                    return Err(broken(&place(), "it has no condition"));
                };
                self.verify_nested(&[&cond.then, &cond.otherwise], &place())?;
                let fits = |g: &Graph| g.inputs == arguments && g.gives() == *node.types;
                if !is_truth(test) || !fits(&cond.then) || !fits(&cond.otherwise) {
                    return Err(broken(&place(), "its graphs do not take its inputs and give its outputs"));
                }
                Ok(())
            }
            Content::While(repeated) => {
                self.verify_nested(&[&repeated.condition, &repeated.body], &place())?;
                let goes_on = matches!(repeated.condition.gives().as_slice(), [test] if is_truth(test));
                let takes = [&repeated.condition, &repeated.body].iter().all(|g| g.inputs == types);
                if !goes_on || !takes || repeated.body.gives() != types || *node.types != types {
                    return Err(broken(&place(), "its graphs do not take and give its state"));
                }
                Ok(())
            }
        }
    }

    fn verify_nested(&self, graphs: &[&Graph], place: &str) -> Result<()> {
        if graphs.iter().any(|g| !g.captures.is_empty() || !g.variables.is_empty() || !g.updates.is_empty()) {
            return Err(broken(
                place,
                "its graphs reach for captures or variables, which must be passed to them",
            ));
        }
        graphs.iter().try_for_each(|g| g.verify())
    }

    /// The types of its outputs.
    pub fn gives(&self) -> Vec<TensorType> {
        self.outputs.iter().map(|v| self.type_of(*v)).collect()
    }
}

/// A scalar bool.
fn is_truth(ty: &TensorType) -> bool {
    ty.dtype == DType::Bool && ty.shape.rank() == 0
}

#[cold]
fn broken(place: &str, why: &str) -> Error {
    Error::argument("graph", format!("{place}: {why}"), "this is a defect of what made the graph")
}
