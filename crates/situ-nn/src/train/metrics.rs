//! Lists of metrics: none, one, or several of different types.

use crate::Metric;

/// Metrics to compile with: `()` for none, an array, a tuple of up to six, or a list of boxes.
pub trait Metrics {
    /// The metrics, in order.
    fn boxed(self) -> Vec<Box<dyn Metric>>;
}

impl Metrics for () {
    fn boxed(self) -> Vec<Box<dyn Metric>> {
        Vec::new()
    }
}

impl Metrics for Vec<Box<dyn Metric>> {
    fn boxed(self) -> Vec<Box<dyn Metric>> {
        self
    }
}

impl<M: Metric + 'static, const N: usize> Metrics for [M; N] {
    fn boxed(self) -> Vec<Box<dyn Metric>> {
        self.into_iter().map(|metric| Box::new(metric) as Box<dyn Metric>).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Metric + 'static),*> Metrics for ($($name,)*) {
            fn boxed(self) -> Vec<Box<dyn Metric>> {
                #[allow(non_snake_case, reason = "a variable for each type, by its name")]
                let ($($name,)*) = self;
                vec![$(Box::new($name)),*]
            }
        }
    )*};
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}
