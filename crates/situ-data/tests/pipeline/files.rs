//! Files: what is written comes back, and a bad file is an error that says where.

use situ_core::DType;
use situ_data::{Csv, Dataset, read_idx, read_npy, write_idx, write_npy};
use situ_tensor::{Tensor, tensor};
use std::path::PathBuf;

/// A file of its own for each test, gone afterwards.
pub(crate) struct File(pub(crate) PathBuf);

impl File {
    pub(crate) fn new(name: &str, contents: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("situ-data-{}-{name}", std::process::id()));
        std::fs::write(&path, contents).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn samples() -> Vec<Tensor> {
    let floats = tensor([[1.5f32, -2.0, f32::INFINITY], [0.25, 1e-30, 3.0]]).unwrap();
    let finite = tensor([[1.0f32, 2.0, 0.0], [7.0, 250.0, 1.0]]).unwrap();
    let mut samples: Vec<_> = DType::ALL.iter().map(|&d| finite.cast(d).unwrap()).collect();
    samples.extend([floats, tensor(4i32).unwrap(), situ_tensor::zeros(&[0, 3], DType::F64).unwrap()]);
    samples
}

fn assert_same(a: &Tensor, b: &Tensor) {
    assert_eq!(a.tensor_type(), b.tensor_type());
    assert_eq!(a.to_bytes().unwrap(), b.to_bytes().unwrap());
}

#[test]
fn npy_files_come_back_as_they_were_written() {
    let file = File::new("round.npy", b"");
    for sample in samples() {
        write_npy(&file.0, &sample).unwrap();
        assert_same(&read_npy(&file.0).unwrap(), &sample);
    }
    assert_eq!(std::fs::read(&file.0).unwrap().len() % 64, 0, "elements begin at a multiple of 64");
}

#[test]
fn idx_files_come_back_as_they_were_written() {
    let file = File::new("round.idx", b"");
    for sample in samples() {
        match sample.dtype() {
            DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::F32 | DType::F64 => {
                write_idx(&file.0, &sample).unwrap();
                assert_same(&read_idx(&file.0).unwrap(), &sample);
            }
            _ => assert!(write_idx(&file.0, &sample).is_err()),
        }
    }
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn npy_files_of_other_machines_and_orders_are_understood() {
    let big = npy("{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }\n", &[0, 1, 255, 255, 1, 0]);
    let file = File::new("big.npy", &big);
    assert_eq!(read_npy(&file.0).unwrap().to_vec::<i16>().unwrap(), [1, -1, 256]);
    let columns = npy("{'shape': (2L, 3L), 'fortran_order': True, 'descr': '|u1'}", &[1, 4, 2, 5, 3, 6]);
    let file = File::new("columns.npy", &columns);
    let read = read_npy(&file.0).unwrap();
    assert_eq!((read.shape().dims(), read.to_vec::<u8>().unwrap()), (&[2, 3][..], vec![1, 2, 3, 4, 5, 6]));
    let rows = Dataset::from_npy(&file.0).unwrap();
    let last = rows.iter().last().unwrap().unwrap();
    assert_eq!(last.to_vec::<u8>().unwrap(), [4, 5, 6], "rows of a view in another order");
}

#[test]
fn bad_npy_files_are_errors_with_the_place() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    for (contents, place, why) in [
        (b"hello".to_vec(), "byte 0", "no NPY file"),
        (Vec::new(), "byte 0", "no NPY file"),
        (b"\x93NUMPY\x09\x00".to_vec(), "byte 6", "version 9"),
        (b"\x93NUMPY\x01\x00\xff\x00{".to_vec(), "byte 11", "header of 255"),
        (npy("{'descr': '<f4'}", &[]), "byte 10", "no descr, fortran_order and shape"),
        (npy(header, &[0; 15]), "byte 69", "does not fit the 15 bytes"),
        (npy(&header.replace("2, 2", "99999999999, 99999999999"), &[0; 4]), "byte", "does not fit"),
        (npy(&header.replace("2, 2", "2, -2"), &[0; 4]), "byte 10", "no descr"),
        (npy(&header.replace("<f4", "<c8"), &[0; 32]), "byte 10", "'<c8'"),
        (npy(&header.replace("<f4", "é"), &[0; 32]), "byte 10", "'é'"),
        (npy(&header.replace("2, 2", "1,1,1,1,1,1,1,1,1"), &[0; 4]), "byte 10", "9 dimensions"),
    ] {
        let file = File::new("bad.npy", &contents);
        let error = read_npy(&file.0).err().unwrap_or_else(|| panic!("{why}")).to_string();
        assert!(error.contains("bad.npy") && error.contains(place) && error.contains(why), "{error}");
    }
    assert!(read_npy("/no/such/file.npy").err().unwrap().to_string().contains("/no/such/file.npy"));
}

#[test]
fn npy_and_idx_files_cut_anywhere_are_errors_not_panics() {
    let file = File::new("cut", b"");
    for sample in &samples()[..2] {
        write_npy(&file.0, sample).unwrap();
        let whole = std::fs::read(&file.0).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&file.0, &whole[..end]).unwrap();
            assert!(read_npy(&file.0).is_err(), "{end} of {} bytes", whole.len());
        }
    }
    write_idx(&file.0, &tensor([[1.5f32, -2.0], [0.25, 3.0]]).unwrap()).unwrap();
    let whole = std::fs::read(&file.0).unwrap();
    for end in 0..whole.len() {
        std::fs::write(&file.0, &whole[..end]).unwrap();
        assert!(read_idx(&file.0).is_err());
    }
}

#[test]
fn bad_idx_files_are_errors_with_the_place() {
    for (contents, place, why) in [
        (&b"\x1f\x8b\x08"[..], "byte 0", "gunzip"),
        (b"\x00\x00\x07\x01\x00\x00\x00\x01\x00", "byte 2", "number 7"),
        (b"\x00\x00\x08\x63", "byte 3", "99 axes"),
        (b"\x00\x00\x08\x02\x00\x00\x00\x01", "byte 8", "ends within the sizes"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x05abc", "byte 8", "[5] do not fit the 3 bytes"),
    ] {
        let file = File::new("bad.idx", contents);
        let error = read_idx(&file.0).err().unwrap_or_else(|| panic!("{why}")).to_string();
        assert!(error.contains(place) && error.contains(why), "{error}");
    }
}

#[test]
fn images_and_labels_of_idx_files_become_pairs() {
    let images = File::new("images.idx", b"\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x03abcdef");
    let labels = File::new("labels.idx", b"\x00\x00\x08\x01\x00\x00\x00\x02\x07\x09");
    let pairs = Dataset::from_idx(&images.0, &labels.0).unwrap();
    let (image, label) = pairs.iter().nth(1).unwrap().unwrap();
    assert_eq!((image.to_vec::<u8>().unwrap(), label.item::<u8>().unwrap()), (b"def".to_vec(), 9));
}

#[test]
fn csv_columns_are_numbers_or_words() {
    let text = "a, b ,kind\n1,2.5,\"x, y\"\n-3,,z\n4e2,0,\"x, y\"\n";
    let file = File::new("good.csv", text.as_bytes());
    let table = Csv::new().read(&file.0).unwrap();
    assert_eq!((table.names(), table.rows()), (&["a", "b", "kind"].map(String::from)[..], 3));
    let floats = table.floats(&["b", "a"]).unwrap();
    assert_eq!(floats.shape().dims(), [3, 2]);
    let values = floats.to_vec::<f32>().unwrap();
    assert_eq!((values[0], values[1], values[3], values[5]), (2.5, 1.0, -3.0, 400.0));
    assert!(values[2].is_nan(), "an empty field");
    assert_eq!(table.numbers_as("a", DType::I64).unwrap().to_vec::<i64>().unwrap(), [1, -3, 400]);
    let (codes, names) = table.categories("kind").unwrap();
    assert_eq!((codes.to_vec::<i32>().unwrap(), names), (vec![0, 1, 0], vec!["x, y".into(), "z".into()]));
    let plain =
        Csv::new().without_header().delimiter(b';').read(&File::new("plain.csv", b"1;2\n3;4\n").0).unwrap();
    assert_eq!(plain.floats(&["0", "1"]).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn bad_csv_files_are_errors_with_the_line() {
    let short = File::new("short.csv", b"a,b\n1,2\n3\n");
    let error = Csv::new().read(&short.0).err().unwrap().to_string();
    assert!(error.contains("line 3: 1 fields, and the first line has 2"), "{error}");
    let word = File::new("word.csv", b"a,b\r\n1,2\r\n\r\n3,many");
    let table = Csv::new().read(&word.0).unwrap();
    let error = table.floats(&["a", "b"]).err().unwrap().to_string();
    assert!(error.contains("line 4: the field \"many\" of column 'b' is no number"), "{error}");
    let error = table.floats(&["c"]).err().unwrap().to_string();
    assert!(error.contains("no column 'c'") && error.contains("a, b"), "{error}");
    assert!(Csv::new().read(&File::new("empty.csv", b"").0).is_err());
    assert!(
        Csv::new()
            .read(&File::new("bytes.csv", b"a\n\xff\xfe\n").0)
            .err()
            .unwrap()
            .to_string()
            .contains("UTF-8")
    );
}
