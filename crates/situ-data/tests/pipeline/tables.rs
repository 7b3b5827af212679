//! Words of CSV files are what is in the file, and whole numbers are too.

use super::files::File;
use situ_core::{DType, Result};
use situ_data::Csv;

/// The codes and names of a file's only column.
fn categories(name: &str, fields: &str) -> (Vec<i32>, Vec<String>) {
    let file = File::new(name, format!("column\n{fields}").as_bytes());
    let table = Csv::new().read(&file.0).unwrap();
    let (codes, names) = table.categories("column").unwrap();
    (codes.to_vec().unwrap(), names)
}

#[test]
fn words_that_look_like_numbers_stay_as_they_are_written() {
    let cases: [(&str, &[i32], &[&str]); 8] = [
        ("02134\n10001\nK1A0B1\n02134\n10001\n", &[0, 1, 2, 0, 1], &["02134", "10001", "K1A0B1"]),
        ("02134\n2134\n", &[0, 1], &["02134", "2134"]),
        ("1.0\n2.50\nx\n1.0\n2.5\n", &[0, 1, 2, 0, 3], &["1.0", "2.50", "x", "2.5"]),
        ("9007199254740993\n9007199254740992\n", &[0, 1], &["9007199254740993", "9007199254740992"]),
        ("nan\nAda\nnan\n\"\"\nNaN\n", &[0, 1, 0, 2, 3], &["nan", "Ada", "", "NaN"]),
        ("inf\n1e400\n-0\n0\n+1\n1\n", &[0, 1, 2, 3, 4, 5], &["inf", "1e400", "-0", "0", "+1", "1"]),
        ("\"a\nb\"\n\"\"\"q\"\"\"\nä\n", &[0, 1, 2], &["a\nb", "\"q\"", "ä"]),
        ("", &[], &[]),
    ];
    for (number, (fields, codes, names)) in cases.into_iter().enumerate() {
        let found = categories(&format!("words{number}.csv"), fields);
        assert_eq!(found.0, codes, "{fields:?}");
        assert_eq!(found.1, names, "{fields:?}");
    }
}

#[test]
fn whole_numbers_are_read_exactly_or_not_at_all() -> Result<()> {
    let text = "id,part,gap\n9007199254740993,1.5,1\n-9223372036854775808,2,\n3.0,3,2\n";
    let file = File::new("whole.csv", text.as_bytes());
    let table = Csv::new().read(&file.0)?;
    let ids = table.numbers_as("id", DType::I64)?.to_vec::<i64>()?;
    assert_eq!(ids, [9_007_199_254_740_993, i64::MIN, 3]);
    let error = table.numbers_as("part", DType::I64).err().unwrap().to_string();
    assert!(error.contains("line 2") && error.contains("1.5") && error.contains("i64"), "{error}");
    let error = table.numbers_as("id", DType::U8).err().unwrap().to_string();
    assert!(error.contains("line 2") && error.contains("u8"), "{error}");
    let error = table.numbers_as("gap", DType::I32).err().unwrap().to_string();
    assert!(error.contains("line 3"), "{error}");
    assert!(table.numbers_as("gap", DType::F64)?.to_vec::<f64>()?[1].is_nan());
    Ok(())
}

#[test]
fn the_line_of_a_word_among_numbers_counts_empty_lines_and_fields_of_several_lines() -> Result<()> {
    let text = "note,x\n\"a\nb\",1\n\n\nc,2\nd,3\n\"e\n\nf\",4\ng,five\nh,six\n";
    let file = File::new("lines.csv", text.as_bytes());
    let table = Csv::new().read(&file.0)?;
    let error = table.floats(&["x"]).err().unwrap().to_string();
    assert!(error.contains("line 11") && error.contains("five"), "{error}");
    Ok(())
}

#[test]
fn a_million_lines_are_read_and_every_field_is_what_it_was() -> Result<()> {
    use std::fmt::Write;
    let mut text = String::from("zip,x\n");
    for row in 0..1_000_000u32 {
        // Each zip twice, half of them with a zero in front; no word among them before the last line.
        writeln!(text, "{:05},{}", row % 20_000, row).unwrap();
    }
    text.push_str("K1A0B1,1000000\n");
    let file = File::new("million.csv", text.as_bytes());
    let table = Csv::new().read(&file.0)?;
    assert_eq!(table.rows(), 1_000_001);
    let (codes, names) = table.categories("zip")?;
    assert_eq!(names.len(), 20_001);
    assert_eq!((names[7].as_str(), names[20_000].as_str()), ("00007", "K1A0B1"));
    let codes = codes.to_vec::<i32>()?;
    assert!(codes[..1_000_000].iter().enumerate().all(|(row, code)| *code == row as i32 % 20_000));
    let x = table.numbers_as("x", DType::I32)?.to_vec::<i32>()?;
    assert!(x.iter().enumerate().all(|(row, x)| *x == row as i32));
    Ok(())
}
