//! What may be asked of a device besides kernels, by name.

/// What a device does with memory and launches. Whoever wants to know one of these asks for it, and not for
/// the device's type: a new type of device says here what it is like, and nothing else has to know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Capabilities {
    /// Its blocks are memory of the host: the host reads and writes tensors where they lie, and copies from
    /// and to it are those of the other end. [`crate::Block::on_host`] makes such blocks.
    pub host_addressable: bool,
    /// A launch returns before its work has run: later work of the device comes behind it, others have to
    /// wait for it, what it finds wrong is told later, and its times are by its own clock.
    pub queued: bool,
    /// Several ops may run on it at once, each on threads of the host; otherwise one after the other.
    pub concurrent: bool,
    /// Logical devices on it may own cores of the host, and use so many threads within an op.
    pub owns_cores: bool,
    /// What a device lacks runs here before it runs elsewhere: it has every kernel, and is where everything
    /// can be in the end.
    pub last_resort: bool,
    /// Logical devices on it copy to one another without the host: [`crate::Device::copy_from_peer`].
    pub peers: bool,
    /// It can go away while a program runs: a driver that is reset, a cable that is pulled.
    pub can_be_lost: bool,
}

impl Capabilities {
    /// Cores of the host that compute where they are called.
    pub const HOST: Capabilities = Capabilities {
        host_addressable: true,
        queued: false,
        concurrent: true,
        owns_cores: true,
        last_resort: true,
        peers: false,
        can_be_lost: false,
    };

    /// A processor behind a driver, with memory and a queue of its own.
    pub const QUEUE: Capabilities = Capabilities {
        host_addressable: false,
        queued: true,
        concurrent: false,
        owns_cores: false,
        last_resort: false,
        peers: false,
        can_be_lost: true,
    };
}
