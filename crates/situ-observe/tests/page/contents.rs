//! What is in a page, as text.

use crate::made::model;
use serde_json::Value;
use situ_observe::{Record, page};
use std::time::Instant;

/// The data that a page carries.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"record\">").expect("the data");
    let (data, _) = rest.split_once("</script>").expect("their end");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_page_of_500_nodes_and_10_steps_is_below_3_megabytes_and_made_within_seconds() {
    let record = model(500, 10);
    let start = Instant::now();
    let page = page::html(&record);
    let took = start.elapsed();
    println!("500 nodes, 10 steps: {} bytes, made in {took:?}", page.len());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(took.as_secs() < 10, "{took:?}");
}

#[test]
fn nothing_in_a_record_gets_out_of_the_data() {
    let mut record = model(9, 1);
    let bad = "</script><script>alert(1)</script><!--{{data}}";
    record.title = bad.into();
    record.plans[0].nodes[3].op = bad.into();
    record.plans[0].nodes[3].reason.text = bad.into();
    record.findings[0].text = bad.into();
    let page = page::html(&record);
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("alert(1)</script>").count(), 0);
    let data = data(&page);
    assert_eq!(data["plans"][0]["nodes"][3]["reason"]["text"], bad);
    assert_eq!(data["title"], bad);
}

#[test]
fn a_page_asks_nothing_of_any_network() {
    let page = page::html(&model(20, 2));
    let addresses: Vec<&str> = page.split("http").skip(1).map(|rest| &rest[..rest.len().min(30)]).collect();
    // The one address is the name of a namespace, which nobody fetches; the other match is the policy's own
    // attribute.
    assert!(
        addresses.iter().all(|a| a.starts_with("://www.w3.org/2000/svg") || a.starts_with("-equiv")),
        "{addresses:?}"
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_gap_of_a_device_is_explained() {
    let data = data(&page::html(&model(60, 3)));
    let gaps = data["gaps"].as_array().expect("gaps");
    assert!(!gaps.is_empty());
    let said = |sort: &str, word: &str| {
        gaps.iter().any(|g| g["sort"] == sort && g["text"].as_str().is_some_and(|t| t.contains(word)))
    };
    assert!(said("wait", "waited for"), "{gaps:?}");
    assert!(said("program", "between call 0 of step and call 1 of step"), "{gaps:?}");
}

#[test]
fn the_ledger_has_one_line_for_the_same_copies_of_every_call_with_the_most_bytes_first() {
    let record = model(60, 5);
    let data = data(&page::html(&record));
    let lines = data["ledger"].as_array().expect("lines");
    assert_eq!(lines.len(), record.plans[0].copies.len());
    assert!(lines.iter().all(|line| line["count"] == 5));
    let bytes: Vec<u64> = lines.iter().map(|line| line["bytes"].as_u64().expect("bytes")).collect();
    assert!(bytes.is_sorted_by(|a, b| a >= b));
    assert_eq!(bytes.iter().sum::<u64>(), record.copies.iter().map(|c| c.bytes).sum::<u64>());
}

#[test]
fn an_empty_record_makes_a_page() {
    assert!(page::html(&Record::default()).contains("A record"));
}
