//! Event files as the real TensorBoard reads them, through its own HTTP interface.
//!
//! Skipped, in so many words, where there is no `tensorboard` on the path: `make test-all` installs it.

#[path = "../../situ-observe/tests/page/made.rs"]
mod made;

use made::model;
use serde_json::Value;
use situ::nn::callbacks::Callback;
use situ::nn::losses::SparseCategoricalCrossEntropy;
use situ::nn::metrics::SparseAccuracy;
use situ::nn::optimizers::Adam;
use situ::nn::{Activation, Dense, Fit, History, Progress, Sequential};
use situ::observe::tensorboard::{TensorBoard, Writer};
use situ::{DType, Result, random};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A TensorBoard at work on a folder, which goes with it.
struct Board {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Board {
    fn start(folder: &Path) -> Option<Board> {
        let path = std::env::var_os("PATH")?;
        let Some(program) = std::env::split_paths(&path).map(|p| p.join("tensorboard")).find(|p| p.is_file())
        else {
            println!("skipped: no tensorboard on the path (make test-all installs it)");
            return None;
        };
        // Free when asked for; nothing else here takes ports in between.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--load_fast=false", "--port", &port.to_string()])
            .arg("--logdir")
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("TensorBoard starts");
        Some(Board { child, port, folder: folder.to_path_buf() })
    }

    /// What is at an address, once it is there and is not empty.
    fn get(&self, address: &str) -> String {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let found = self.try_get(address);
            match found {
                Some(text) if text.trim() != "{}" => return text,
                _ if Instant::now() > until => panic!("{address}: {found:?}"),
                _ => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    fn try_get(&self, address: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request =
            format!("GET {address} HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, body) = (String::from_utf8_lossy(&answer[..end]).to_lowercase(), &answer[end + 4..]);
        if !head.lines().next()?.contains(" 200 ") {
            return None;
        }
        // The profiler packs its answers, whatever it is asked for.
        let body = if head.contains("content-encoding: gzip") { unpacked(body) } else { body.to_vec() };
        Some(String::from_utf8_lossy(&body).into_owned())
    }

    fn json(&self, address: &str) -> Value {
        serde_json::from_str(&self.get(address)).expect("JSON")
    }
}

/// What gzip makes of it.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let gzip = Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut gzip = gzip.expect("gzip is there");
    let (mut to, bytes) = (gzip.stdin.take().expect("a pipe"), bytes.to_vec());
    let writer = std::thread::spawn(move || to.write_all(&bytes));
    let out = gzip.wait_with_output().expect("gzip ends").stdout;
    writer.join().expect("no panic").expect("gzip listens");
    out
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn tensorboard_shows_curves_the_graph_by_device_and_the_times_of_a_call() {
    let folder = std::env::temp_dir().join(format!("situ-board-{}", std::process::id()));
    let record = model(41, 4);
    let mut run = Writer::create(folder.join("run")).expect("a file");
    for (epoch, loss) in [0.75, 0.5, 0.25].into_iter().enumerate() {
        run.scalar("loss", epoch as u64, loss).expect("a point");
    }
    run.record(&record).expect("the record");
    run.finish().expect("the end");
    let Some(board) = Board::start(&folder) else {
        let _ = std::fs::remove_dir_all(&folder);
        return;
    };

    let tags = board.json("/data/plugin/scalars/tags");
    let tags = tags["run"].as_object().expect("the run's curves");
    for name in ["loss", "call_ms/step", "bytes_moved/step", "memory_bytes/GPU_0"] {
        assert!(tags.contains_key(name), "{name} in {tags:?}");
    }
    let points = board.json("/data/plugin/scalars/scalars?run=run&tag=loss");
    let values: Vec<f64> = points.as_array().expect("points").iter().filter_map(|p| p[2].as_f64()).collect();
    assert_eq!(values, [0.75, 0.5, 0.25]);

    let graph = board.get("/data/plugin/graphs/graph?run=run");
    assert_eq!(graph.matches("node {").count(), 41);
    let devices = |name: &str| {
        graph.matches(&format!("device: \"/job:localhost/replica:0/task:0/device:{name}\"")).count()
    };
    let placed = |device: usize| record.plans[0].nodes.iter().filter(|n| n.device == device).count();
    assert_eq!((devices("CPU:0"), devices("GPU:0")), (placed(made::CPU), placed(made::GPU)));
    assert!(graph.contains("name: \"step/encoder/layer_0/dense/matmul\""), "{}", &graph[..1000]);

    let stats = board.get("/data/plugin/graphs/run_metadata?run=run&tag=step%20call%200");
    assert_eq!(stats.matches("node_stats {").count(), 40, "every op of the call");
    assert!(stats.contains("node_name: \"step/encoder/layer_0/dense/matmul\""), "{stats}");
}

/// Trains a small model for three epochs, and leaves what the callback writes in a folder.
fn train(folder: &Path) -> Result<History> {
    let x = random::normal(&[64, 8])?;
    let y = x.argmax(&[-1])?.cast(DType::I32)?;
    let mut trainer =
        Sequential::new().add(Dense::new(16).activation(Activation::Relu)).add(Dense::new(8)).compile(
            Adam::new(1e-2),
            SparseCategoricalCrossEntropy::from_logits(),
            [SparseAccuracy::new()],
        )?;
    let callbacks: Vec<Box<dyn Callback>> =
        vec![Box::new(TensorBoard::new(folder).every_steps(2).profile(3..5))];
    let validation = Some((&x, &y).into());
    trainer
        .fit((&x, &y), Fit { epochs: 3, callbacks, validation, progress: Progress::Silent, ..Fit::default() })
}

#[test]
fn tensorboard_follows_fit_with_training_and_validation_in_one_chart() {
    let folder = std::env::temp_dir().join(format!("situ-fit-{}", std::process::id()));
    let history = train(&folder).expect("it trains");
    let Some(board) = Board::start(&folder) else {
        let _ = std::fs::remove_dir_all(&folder);
        return;
    };
    let tags = board.json("/data/plugin/scalars/tags");
    let has = |run: &str, name: &str| tags[run].as_object().is_some_and(|tags| tags.contains_key(name));
    for name in ["epoch/loss", "epoch/accuracy", "epoch/learning_rate", "epoch/steps_per_second", "step/loss"]
    {
        assert!(has("train", name), "{name} in {tags}");
    }
    assert!(has("validation", "epoch/loss") && !has("validation", "epoch/learning_rate"), "{tags}");
    let points = |run: &str, tag: &str| -> Vec<(u64, f64)> {
        let points = board.json(&format!("/data/plugin/scalars/scalars?run={run}&tag={tag}"));
        let point = |p: &Value| (p[1].as_u64().expect("a step"), p[2].as_f64().expect("a value"));
        points.as_array().expect("points").iter().map(point).collect()
    };
    for (run, figure) in [("train", "loss"), ("validation", "val_loss")] {
        let (points, epochs) = (points(run, "epoch/loss"), history.series(figure));
        assert_eq!(points.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3], "epochs that are over");
        assert!(
            points.iter().zip(&epochs).all(|(point, loss)| point.1 == f64::from(*loss as f32)),
            "{points:?} {epochs:?}"
        );
    }
    assert_eq!(points("train", "step/loss").iter().map(|p| p.0).collect::<Vec<_>>(), [2, 4, 6]);
    let graph = board.get("/data/plugin/graphs/graph?run=train");
    for name in
        ["train_step/dense/matmul_bias", "train_step/update/dense/kernel/adam", "train_step/dense/kernel"]
    {
        assert!(graph.contains(&format!("name: \"{name}\"")), "{name} in {}", &graph[..2000]);
    }
    let times = board.json("/data/plugin/graphs/info");
    assert!(times.to_string().contains("train_step call 3"), "{times}");
}

#[test]
fn tensorboards_profiler_knows_the_steps_the_kernels_and_the_ops_of_host_and_device() {
    let folder = std::env::temp_dir().join(format!("situ-profile-{}", std::process::id()));
    let record = model(41, 4);
    record.save_tensorboard(&folder).expect("the record");
    let Some(board) = Board::start(&folder) else {
        let _ = std::fs::remove_dir_all(&folder);
        return;
    };
    if !board.get("/data/plugins_listing").contains("\"profile\"") {
        println!("skipped: TensorBoard has no profiler (pip install tensorboard-plugin-profile)");
        return;
    }
    let runs = board.json("/data/plugin/profile/runs");
    let run = runs[0].as_str().expect("a run");
    let tool = |name: &str| board.json(&format!("/data/plugin/profile/data?run={run}&tag={name}&host=situ"));
    let rows = |table: &Value| -> Vec<String> {
        table["rows"].as_array().expect("rows").iter().map(Value::to_string).collect()
    };
    let kernels = rows(&tool("kernel_stats"));
    let on_gpu = record.plans[0].nodes.iter().filter(|n| n.runs() && n.device == made::GPU).count();
    let occurrences = kernels.iter().filter(|row| row.contains("step/encoder/")).count();
    assert!(occurrences > 0 && kernels.len() <= on_gpu, "{} rows of {on_gpu}: {kernels:?}", kernels.len());
    assert!(kernels.iter().any(|row| row.contains("encoder/layer 0/dense/matmul")), "{kernels:?}");
    let stats = tool("framework_op_stats");
    let ops = rows(&stats[0]).join("\n");
    assert!(ops.contains("Host") && ops.contains("Device") && ops.contains("softmax"), "{ops}");
    let steps = rows(&tool("input_pipeline_analyzer")[1]);
    assert_eq!(steps.len(), 4, "every call is a step: {steps:?}");
}
