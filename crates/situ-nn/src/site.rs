//! Where a part of a model was made: the scope around its constructor, which its ops keep asking for.

use situ_core::{Location, Request};
use situ_tensor::ScopeGuard;
use situ_tensor::scope::{current_request, enter, line_scope};

/// The device scope in which a layer or a loss was made.
///
/// Precedence, strongest first: the scope around the call, this one, the scope around the function that is
/// called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    request: Request,
    /// The line that made it, if its ops are to be said to be of that line.
    line: Option<Location>,
}

impl Site {
    /// The scopes around this call.
    pub fn here() -> Site {
        Site { request: current_request(), line: None }
    }

    /// The same for parts that this crate has: people know the line that made one, and not those of its ops.
    #[track_caller]
    pub(crate) fn of_caller() -> Site {
        Site { line: Some(Location::here()), ..Site::here() }
    }

    /// What was asked for there.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Whether nothing was asked for there, so that entering it changes nothing.
    pub fn is_free(&self) -> bool {
        self.request.spec.is_empty() && self.request.fallback.is_none() && self.request.copies.is_none()
    }

    /// Opens the scope of its line alone.
    pub(crate) fn enter_line(&self) -> Option<ScopeGuard> {
        self.line.map(line_scope)
    }

    /// Opens the scope in which its ops run: this site's, with the scopes around the call inside of it.
    pub fn enter(&self) -> ScopeGuard {
        let called = current_request();
        enter(Request {
            spec: self.request.spec.inside(&called.spec),
            fallback: called.fallback.or(self.request.fallback),
            copies: called.copies.or(self.request.copies),
            // A layer is called where its model calls it, wherever it was made.
            name: called.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_tensor::{clear_device, with_device};

    #[test]
    fn the_scope_at_the_call_is_stronger_than_that_of_the_layer() {
        let site = with_device("/GPU:1", || Ok(Site::here())).unwrap();
        {
            let _scope = site.enter();
            assert_eq!(current_request().spec, "/GPU:1".parse().unwrap());
        }
        let _cpu = situ_tensor::device("/CPU:0").unwrap();
        let _scope = site.enter();
        assert_eq!(current_request().spec, "/CPU:0".parse().unwrap());
        let _none = clear_device();
        assert!(current_request().spec.is_empty());
    }

    #[test]
    fn the_ops_of_a_layer_are_of_the_line_that_made_it() -> situ_core::Result<()> {
        use crate::{Dense, Layer, Maker, Model, Pass};
        let (dense, line) = (Dense::new(3), line!());
        let dense = dense.built(&[2], &mut Maker::new(0))?;
        let x = situ_tensor::zeros(&[4, 2], situ_core::DType::F32)?;
        let f = situ_tensor::Function::new(move |x| dense.forward(x, &Pass::inference()));
        let places = f.places(&[&x])?;
        let ours = format!("{}:{line}", file!());
        assert!(places.iter().all(|place| place.source.to_string() == ours), "{places:?}");
        Ok(())
    }
}
