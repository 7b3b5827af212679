//! The profiles that come with this crate, so that a program that was installed has them without a folder
//! beside it.

/// Name and text of every profile in `machines/`.
pub const SHIPPED: &[(&str, &str)] = &[
    ("a100-pcie", include_str!("../../machines/a100-pcie.toml")),
    ("h100-sxm-4", include_str!("../../machines/h100-sxm-4.toml")),
    ("rtx4090", include_str!("../../machines/rtx4090.toml")),
];

/// The text of the profile of that name, if there is one.
///
/// ```
/// use situ_place::machine::{Profile, shipped};
///
/// let profile = Profile::from_toml(shipped("rtx4090").unwrap())?;
/// assert_eq!(profile.machine.devices[1].name, "GPU:0");
/// assert!(shipped("abacus").is_none());
/// # Ok::<(), situ_place::GraphError>(())
/// ```
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
