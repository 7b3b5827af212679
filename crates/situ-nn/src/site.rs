//! Where a part of a model was made: the scope around its constructor, which its ops keep asking for.

use situ_core::Request;
use situ_tensor::ScopeGuard;
use situ_tensor::scope::{current_request, enter};

/// The device scope in which a layer or a loss was made.
///
/// Precedence, strongest first: the scope around the call, this one, the scope around the function that is called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site(Request);

impl Site {
    /// The scopes around this call.
    pub fn here() -> Site {
        Site(current_request())
    }

    /// What was asked for there.
    pub fn request(&self) -> &Request {
        &self.0
    }

    /// Whether nothing was asked for there, so that entering it changes nothing.
    pub fn is_free(&self) -> bool {
        self.0.spec.is_empty() && self.0.fallback.is_none() && self.0.copies.is_none()
    }

    /// Opens the scope in which its ops run: this site's, with the scopes around the call inside of it.
    pub fn enter(&self) -> ScopeGuard {
        let called = current_request();
        enter(Request {
            spec: self.0.spec.inside(&called.spec),
            fallback: called.fallback.or(self.0.fallback),
            copies: called.copies.or(self.0.copies),
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
}
