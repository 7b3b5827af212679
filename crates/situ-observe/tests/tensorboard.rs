//! Event files as the real TensorBoard reads them, through its own HTTP interface.
//!
//! Skipped, in so many words, where there is no `tensorboard` on the path: `make test-all` installs it.

#[path = "page/made.rs"]
mod made;

use made::model;
use serde_json::Value;
use situ_observe::tensorboard::Writer;
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
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let fine = head.lines().next()?.contains(" 200 ");
        fine.then(|| body.to_string())
    }

    fn json(&self, address: &str) -> Value {
        serde_json::from_str(&self.get(address)).expect("JSON")
    }
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
