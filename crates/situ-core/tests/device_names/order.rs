//! The order of names.

use std::cmp::Ordering;

use situ_core::device_spec::compare_names;

use crate::spec;

#[test]
pub(crate) fn partial_names_sort_before_complete_ones_then_field_by_field() {
    let ascending = [
        "",
        "/device:*:1",
        "/cpu",
        "/gpu:0",
        "/device:Tpu",
        "/task:1",
        "/replica:0",
        "/job:z/replica:0/task:0/cpu",
        "/job:a/replica:0/task:0/cpu:0",
        "/job:a/replica:0/task:0/cpu:2",
        "/job:a/replica:0/task:0/cpu:10",
        "/job:a/replica:0/task:0/gpu:0",
        "/job:a/replica:0/task:1/cpu:0",
        "/job:a/replica:1/task:0/cpu:0",
        "/job:b/replica:0/task:0/cpu:0",
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(spec(a).cmp(&spec(b)), i.cmp(&j), "{a:?} {b:?}");
            assert_eq!(compare_names(a, b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
}

#[test]
pub(crate) fn texts_that_are_no_names_sort_first() {
    assert_eq!(compare_names("zzz", ""), Ordering::Less);
    assert_eq!(compare_names("", "zzz"), Ordering::Greater);
    assert_eq!(compare_names("zzz", "aaa"), Ordering::Greater);
    assert_eq!(compare_names("zzz", "zzz"), Ordering::Equal);
    assert_eq!(compare_names("/GPU:0/task:1", "task:1/device:gpu:0"), Ordering::Equal);
}
