//! One row per scenario: how it is expressed here, what situ does, and why where that is not what TensorFlow
//! does.

/// How situ compares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Same,
    /// Different on purpose, and why.
    Different(&'static str),
    /// There is nothing like it here, and why.
    NotExpressible(&'static str),
}

/// What holds for all rows: words of errors are our own, a pre-assigned device is a hard request, and a
/// reference or resource edge is a colocation.
pub(crate) const SAME_BUT_FOR: &str =
    "the words of errors; assigned = hard request; resource edge = colocation";

pub(crate) struct Row {
    pub id: &'static str,
    pub mark: Mark,
    /// The devices' names; empty for ten CPUs, ten GPUs and one other.
    pub devices: &'static str,
    pub graph: String,
    pub algorithm: &'static str,
    /// What is expected of hard and of soft requests.
    pub hard: Option<&'static str>,
    pub soft: Option<&'static str>,
    /// What an error must name, separated by `|`.
    pub says: &'static str,
}

impl Row {
    fn new(id: &'static str, graph: &str) -> Row {
        Row {
            id,
            mark: Mark::Same,
            devices: "",
            graph: graph.to_owned(),
            algorithm: "rules",
            hard: None,
            soft: None,
            says: "",
        }
    }

    fn soft(self, expected: &'static str) -> Row {
        Row { soft: Some(expected), ..self }
    }

    fn hard(self, expected: &'static str) -> Row {
        Row { hard: Some(expected), ..self }
    }

    fn on(self, devices: &'static str) -> Row {
        Row { devices, ..self }
    }

    fn says(self, says: &'static str) -> Row {
        Row { says, ..self }
    }

    fn but(self, why: &'static str) -> Row {
        Row { mark: Mark::Different(why), ..self }
    }

    /// What is a kernel's priority there is its cost here, which `auto` weighs.
    fn by_cost(self) -> Row {
        Row { algorithm: "auto", ..self.but("a kernel has a cost, not a priority: the cheaper one wins") }
    }
}

fn absent(id: &'static str, why: &'static str) -> Row {
    Row { mark: Mark::NotExpressible(why), ..Row::new(id, "") }
}

const JOB_A: &str = "/job:a/replica:0/task:0/device:CPU:0 /job:a/replica:0/task:0/device:GPU:0";
const JOB_B: &str = "/job:b/replica:0/task:0/device:GPU:0 /job:b/replica:0/task:1/device:CPU:0";
const HARD_IS_HARD: &str = "a hard request that the group can't meet is an error, never ignored";
const FIRST_REQUEST: &str = "among soft requests of one group the first that can be met wins; it is no error";
const NOT_DROPPED: &str =
    "a colocation is never dropped: two halves of one state on two devices would be wrong";
const NO_CALL: &str = "a call leaves no node: what is inside the function is placed op by op";

/// All combinations of a variable and its assignment with kernels for both, CPU or GPU.
const PAIRS: &str = "v:CG; a:CG <*v || v:CG; a:C <*v || v:CG; a:G <*v || v:C; a:CG <*v || v:C; a:C <*v || v:C; a:G <*v \
                     || v:G; a:CG <*v || v:G; a:C <*v || v:G; a:G <*v";
const PAIRS_GO: &str = "v=G a=G || v=C a=C || v=G a=G || v=C a=C || v=C a=C || error:colocation \
                        || v=G a=G || error:colocation || v=G a=G";

/// A hundred pairs whose groups are tied in circles.
fn circles() -> String {
    let nodes = (0..100).map(|i| format!("v{i}:CG =g{}; a{i}:CG <*v{i} +v{}", i % 6, i % 3));
    nodes.collect::<Vec<_>>().join("; ")
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = kernels();
    rows.extend(colocation());
    rows.extend(errors());
    rows.extend(calls());
    rows
}

fn kernels() -> Vec<Row> {
    let tie = "costs add up over a group: there is no conflict of priorities to give up";
    vec![
        Row::new("P01", "in:C; a:CG <in; b:CG <in").soft("in=C a=G b=G"),
        Row::new("P02", "in:C; a:C1G2 <in; b:C1G2 <in").soft("in=C a=C b=C").by_cost(),
        Row::new("P03", "a:CX; b:CX @/device:XPU:0")
            .soft("a=X b=X")
            .but("no device type has to be asked for: other types come before the CPU"),
        Row::new("P04", "in:G; a:C1G2 <in").soft("in=G a=C").by_cost(),
        Row::new("P05", "in:G; a:C1G2 <in +in; b:C1G2 <in").soft("in=G a=G b=C").by_cost(),
        Row::new("P06", "p:C1G2; c:CG <*p").soft("p=C c=C").by_cost(),
        Row::new("P07", "p:C2G1; c:CG <*p").soft("p=G c=G").by_cost(),
        Row::new("P08", "p:CG; c:C1G2 <*p").soft("p=C c=C").by_cost(),
        Row::new("P09", "p:CG; c:C2G1 <*p").soft("p=G c=G").by_cost(),
        Row::new("P10", "p:CG; c:G <*p").soft("p=G c=G"),
        Row::new("P11", "p:C; c:CG <*p").soft("p=C c=C"),
        Row::new("P12", "p:C1G2; c:C1G2 <*p").soft("p=C c=C").by_cost(),
        Row::new("P13", "p:C2G1; c:C2G1 <*p").soft("p=G c=G").by_cost(),
        absent("P14", tie),
        absent("P15", tie),
        Row::new("P16", "in:C; v1:C; a1:C <*v1 <in; v2:G; a2:G <*v2 <in").soft("in=C v1=C a1=C v2=G a2=G"),
        absent("P17", "a shape is known when a function is traced: no op computes one at run time"),
        Row::new("P18", "g:CG; v:C; a:C <*v <g").soft("g=C v=C a=C"),
        Row::new("P19", "g:G; v:C; a:C <*v <g").soft("g=G v=C a=C"),
        Row::new("P20", "g:CG @/CPU:1; v:C @/CPU:0; a:C <*v <g").soft("g=C:1 v=C:0 a=C:0"),
        Row::new("P21", "in:C @/job:a; v:CG @/job:a").on(JOB_A).soft("in=C v=G"),
        Row::new("P22", "in:C @/CPU:7").hard("in=C:7").soft("in=C:7"),
        Row::new("P23", "in:C @/GPU:0; v:CG @/GPU:0").soft("in=C v=G:0"),
        Row::new("P24", "r:CG @/CPU:0; c:G <*r").soft("r=G c=G"),
        Row::new("P25", "in:C @/GPU:0").hard("error:request").says("in|/GPU:0"),
    ]
}

fn colocation() -> Vec<Row> {
    vec![
        Row::new("P26", PAIRS).hard(PAIRS_GO).soft(PAIRS_GO),
        Row::new("P27", PAIRS).hard(PAIRS_GO).soft(PAIRS_GO),
        Row::new("P28", "a:CG @/CPU:0; b:CG @/GPU:0; op:CG <*a <*b")
            .hard("error:colocation")
            .soft("a=C:0 b=C:0 op=C:0")
            .but(FIRST_REQUEST),
        Row::new("P29", "v:CG @/GPU:0; a:CG <*v @/CPU:0").hard("error:colocation").but(HARD_IS_HARD),
        Row::new("P30", "v:CG @/job:a/task:0; a:CG <*v @/job:a/task:0/CPU:0").on(JOB_A).hard("v=C:0 a=C:0"),
        Row::new("P31", "v:CG; a:CG <*v @/CPU:0").hard("v=C:0 a=C:0"),
        Row::new("P32", "in:C; a:CG <in +in; b:CG <in").soft("in=C a=C b=G"),
        Row::new("P33", "in:C; a:CG <in +in; b:CG <a +in +a").soft("in=C a=in b=in"),
        Row::new("P34", "in:C =loc; foo:G =loc")
            .hard("error:colocation")
            .soft("error:colocation")
            .says("in|foo|loc")
            .but(NOT_DROPPED),
        Row::new("P35", "v1:C; v2:C; a1:C <*v1 <v2; a2:C <*v2 <v1").soft("v1=C:0 v2=C:0 a1=C:0 a2=C:0"),
        Row::new("P36", "v2:C; v3:G; a:CG <*v3 +v2")
            .hard("error:colocation")
            .soft("error:colocation")
            .but(NOT_DROPPED),
        Row::new("P37", &circles()).soft("v0=v1 v0=v50 v0=v99 a0=v0 a37=v37 a99=v0"),
        Row::new("P57", "v:G; a:CG <*v @/CPU:0 || v:C; a:CG <*v @/GPU:0").soft("v=G a=G || v=C a=C"),
        Row::new("P58", "v:G; a:C <*v").soft("error:colocation").hard("error:colocation").says("(v)|(a)"),
        Row::new("P59", "g:CG; a:C @/CPU:0 <g; b:C @/CPU:0 <g").soft("g=C:0 a=C:0 b=C:0"),
        Row::new("P60", "g:CG; a:C @/CPU:1 <g; b:C @/CPU:2 <g").soft("g=G a=C:1 b=C:2"),
        Row::new("P61", "a:CG @/GPU:0; b:CG @/CPU:0; i:CG <*a; j:CG <*b +i")
            .hard("error:colocation")
            .soft("a=G:0 b=a i=a j=a")
            .but(NOT_DROPPED),
        Row::new("P62", "a:CG; b:CG; i:CG <*a @/GPU:0; j:CG <*b @/CPU:0; k:CG <*i <*j")
            .soft("b=a i=a j=a k=a"),
        Row::new("P63", "r:CG @/CPU:0; c:G <*r").hard("error:request").says("/CPU:0|GPU:0"),
        Row::new("P64", "a:CG; b:CG; i:CG <*a @/GPU:0; j:CG <*b @/CPU:0; k:CG <*i <*j")
            .hard("error:colocation")
            .soft("b=a i=a j=a k=a")
            .but(NOT_DROPPED),
    ]
}

fn errors() -> Vec<Row> {
    vec![
        Row::new("P38", "in:C").on("none").soft("error:file").says("device"),
        Row::new("P39", "v:G; a:CG <*v @/job:b/task:1").on(JOB_B).soft("error:request").says("/job:b/task:1"),
        Row::new("P40", "in:C @/job:foo").soft("error:request").says("/job:foo"),
        Row::new("P41", "v:CG @/job:a; a:CG <*v @/task:9").on(JOB_A).soft("error:request").says("/task:9"),
        Row::new("P42", "in:C @/job:foo").hard("error:request").says("/job:foo"),
        Row::new("P43", "v:").soft("error:kernel").says("(v)"),
        Row::new("P44", "v: @/CPU:0").hard("error:kernel").says("(v)"),
        absent("P45", "every device's kernels are known here: there is no task elsewhere that may have more"),
        Row::new("P46", "v:G").on("CPU:0").soft("error:kernel").says("(v)|CPU:0"),
        Row::new("P47", "in:C @/foo:bar").soft("error:file").says("/foo:bar|nodes[0].device"),
        Row::new("P48", "in:C @/foo:bar").hard("error:file").says("/foo:bar"),
        Row::new("P49", "in:CG @/job:a")
            .on(JOB_A)
            .hard("in=G")
            .but("a request that several devices satisfy is a choice among them, not an error"),
        Row::new("P50", "in:CG @/GPU:11").soft("in=G:0"),
        Row::new("P51", "in:CG @/GPU:11").hard("error:request").says("/GPU:11"),
        Row::new("P52", "in:CG @/GPU:11")
            .hard("error:request")
            .says("node 0 (in)|/GPU:11")
            .but("the error begins with the node, says what it asked for, and which devices can run it"),
        Row::new("P53", "in:G @/CPU:0").hard("error:request").says("/CPU:0|can run only on GPU:0"),
        Row::new("P54", "in:C @/job:foo/replica:17").hard("error:request").says("/job:foo/replica:17|CPU:0"),
        absent("P55", "there is no build without GPUs: a GPU that is not there is P51, on any machine"),
        Row::new("P56", "in:C @/GPU:0").soft("in=C"),
    ]
}

fn calls() -> Vec<Row> {
    let two = "a:CG @/CPU:0; b:CG @/GPU:0; op:CG <*a <*b";
    vec![
        Row::new("N01", "x:CG @/GPU:0; r:CG @/CPU:0; out:CG <*r; f:CG <x").soft("out=C f=G").but(NO_CALL),
        Row::new("N02", "x:CG @/GPU:0; r:CG @/CPU:0; i:CG <*r; out:CG <*i; j:CG <x; f:CG <j")
            .soft("i=C out=C f=G")
            .but(NO_CALL),
        Row::new("N03", "r:CG @/CPU:0; out:CG <*r @/GPU:0").hard("error:colocation").but(HARD_IS_HARD),
        Row::new("N04", "a:CG @/CPU:0; b:CG @/GPU:0; r1:CG <*b; r2:CG <*a").soft("r1=G r2=C").but(NO_CALL),
        Row::new("N05", "a:CG @/CPU:0; b:CG @/GPU:0; r1:CG <*b; r2:CG <*a").soft("r1=G r2=C").but(NO_CALL),
        Row::new("N06", "a:CG; b:CG @/GPU:0; r1:CG <*b; r2:CG <*a").hard("a=G b=G r1=G r2=G").but(NO_CALL),
        Row::new("N07", "a:CG; b:CG @/CPU:0; r1:CG <*b; r2:CG <*a").hard("a=G b=C r1=C r2=G").but(NO_CALL),
        Row::new("N08", "a:CG @/CPU:0; b:CG @/GPU:0; c:CG <*a; d:CG <*a; e:CG <*b @/GPU:0")
            .hard("c=C d=C e=G")
            .but(NO_CALL),
        Row::new("N09", "a:CG; r1:CG <*a; r2:CG <*a @/CPU:0").hard("a=C r1=C r2=C").but(NO_CALL),
        Row::new("N10", "a:CG; r1:CG <*a; r2:CG <*a @/CPU:0; r3:CG <*a")
            .hard("a=C r1=C r2=C r3=C")
            .but(NO_CALL),
        Row::new("N11", "a:CG; r1:CG <*a @/GPU:0; r2:CG <*a @/CPU:0")
            .hard("error:colocation")
            .but(HARD_IS_HARD),
        Row::new("N12", "a:CG @/CPU:0; out:CG <*a @/GPU:0").soft("a=C out=C").but(NO_CALL),
        Row::new("N13", "a:CG @/CPU:0; out:CG <*a @/GPU:0").soft("a=C out=C").but(NO_CALL),
        Row::new("N14", two).hard("error:colocation").soft("a=C op=C b=C").but(FIRST_REQUEST),
        Row::new("N15", two).hard("error:colocation").soft("a=C op=C b=C").but(FIRST_REQUEST),
        Row::new("N16", "a:C; c:CG <*a @/GPU:0").hard("error:request").says("/GPU:0").but(NO_CALL),
        Row::new("N17", "a:C; c:CG <*a @/GPU:0").hard("error:request").says("/GPU:0").but(NO_CALL),
        Row::new("N18", two).hard("error:colocation").soft("a=C op=C b=C").but(FIRST_REQUEST),
        Row::new("N19", two).hard("error:colocation").soft("a=C op=C b=C").but(FIRST_REQUEST),
        absent("N20", "tracing runs the closure: a function that calls itself never becomes a graph"),
        absent("N21", "tracing runs the closures: functions that call each other never become a graph"),
    ]
}
