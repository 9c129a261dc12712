//! How a matrix or a frame becomes a table: frames are taken apart into columns by `millstream._frames`, once per batch;
//! here a column is a borrowed NumPy array of any number type and stride.

use std::sync::Arc;

use millstream_core::schema::Name;
use millstream_core::table::{Column, SparseTable, Table};
use millstream_core::Fault;
use numpy::ndarray::{ArrayView1, ArrayView2, Axis};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;
use rustc_hash::FxHashSet;

use crate::buffer_pool::ParsedRows;
use crate::dicts::read_name;
use crate::errors::{raise, shown};

/// Read a column of numbers of any type.
pub enum Numbers<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    I64(PyReadonlyArray1<'py, i64>),
    I32(PyReadonlyArray1<'py, i32>),
    I16(PyReadonlyArray1<'py, i16>),
    I8(PyReadonlyArray1<'py, i8>),
    U64(PyReadonlyArray1<'py, u64>),
    U32(PyReadonlyArray1<'py, u32>),
    U16(PyReadonlyArray1<'py, u16>),
    U8(PyReadonlyArray1<'py, u8>),
    Bool(PyReadonlyArray1<'py, bool>),
}

pub enum Matrix<'py> {
    F64(PyReadonlyArray2<'py, f64>),
    F32(PyReadonlyArray2<'py, f32>),
    I64(PyReadonlyArray2<'py, i64>),
    I32(PyReadonlyArray2<'py, i32>),
    I16(PyReadonlyArray2<'py, i16>),
    I8(PyReadonlyArray2<'py, i8>),
    U64(PyReadonlyArray2<'py, u64>),
    U32(PyReadonlyArray2<'py, u32>),
    U16(PyReadonlyArray2<'py, u16>),
    U8(PyReadonlyArray2<'py, u8>),
    Bool(PyReadonlyArray2<'py, bool>),
}

/// A view of one column, ready to be read without Python.
#[derive(Clone, Copy)]
enum View<'a> {
    F64(ArrayView1<'a, f64>),
    F32(ArrayView1<'a, f32>),
    I64(ArrayView1<'a, i64>),
    I32(ArrayView1<'a, i32>),
    I16(ArrayView1<'a, i16>),
    I8(ArrayView1<'a, i8>),
    U64(ArrayView1<'a, u64>),
    U32(ArrayView1<'a, u32>),
    U16(ArrayView1<'a, u16>),
    U8(ArrayView1<'a, u8>),
    Bool(ArrayView1<'a, bool>),
}

/// Do the same for each number type.
macro_rules! each_type {
    ($what:ident :: $value:expr, $inner:ident => $do:expr) => {
        match $value {
            $what::F64($inner) => $do,
            $what::F32($inner) => $do,
            $what::I64($inner) => $do,
            $what::I32($inner) => $do,
            $what::I16($inner) => $do,
            $what::I8($inner) => $do,
            $what::U64($inner) => $do,
            $what::U32($inner) => $do,
            $what::U16($inner) => $do,
            $what::U8($inner) => $do,
            $what::Bool($inner) => $do,
        }
    };
}

macro_rules! borrow {
    ($to:ident, $array:ident, $value:expr) => {{
        let value = $value;
        borrow!(@try $to, $array, value, F64 f64, F32 f32, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8, Bool bool);
        None
    }};
    (@try $to:ident, $array:ident, $value:ident, $($variant:ident $type:ty),*) => {
        $(if let Ok(array) = $value.cast::<$array<$type>>() {
            return Some($to::$variant(array.try_readonly().ok()?));
        })*
    };
}

fn borrow_column<'py>(array: &Bound<'py, PyAny>) -> Option<Numbers<'py>> {
    borrow!(Numbers, PyArray1, array)
}

fn borrow_matrix<'py>(array: &Bound<'py, PyAny>) -> Option<Matrix<'py>> {
    borrow!(Matrix, PyArray2, array)
}

/// How each number type becomes f64. Booleans count 0 or 1.
trait AsFloat: Copy + Element {
    fn as_float(self) -> f64;
}

macro_rules! as_float {
    ($($type:ty),*) => { $(impl AsFloat for $type { #[inline(always)] fn as_float(self) -> f64 { self as f64 } })* };
}
as_float!(f64, f32, i64, i32, i16, i8, u64, u32, u16, u8);

impl AsFloat for bool {
    fn as_float(self) -> f64 {
        f64::from(self)
    }
}

/// Write a column into a row-major block.
fn scatter<T: AsFloat>(
    view: ArrayView1<'_, T>,
    from: usize,
    to: usize,
    width: usize,
    place: usize,
    out: &mut [f64],
) {
    let rows = out.chunks_exact_mut(width);
    match view.as_slice() {
        Some(slice) => rows.zip(&slice[from..to]).for_each(|(row, value)| row[place] = value.as_float()),
        None => {
            let part = view.slice_axis(Axis(0), (from..to).into());
            rows.zip(part).for_each(|(row, value)| row[place] = value.as_float());
        }
    }
}

/// Rows that Python lends for one call.
pub enum BorrowedRows<'py> {
    Matrix {
        array: Matrix<'py>,
        columns: Vec<Column>,
    },
    Columns {
        arrays: Vec<Numbers<'py>>,
        columns: Vec<Column>,
        height: usize,
    },
    Sparse {
        starts: Vec<usize>,
        indices: Buffer<'py, u32>,
        values: Buffer<'py, f64>,
        width: usize,
    },
    /// Rows as a parser left them, and how many columns they have.
    Parsed(Bound<'py, ParsedRows>, usize),
}

/// Numbers that lie in Python's memory as the core wants them, or a copy that does.
pub enum Buffer<'py, T: Element> {
    Borrowed(PyReadonlyArray1<'py, T>),
    Copied(Vec<T>),
}

impl<T: Element> Buffer<'_, T> {
    fn as_slice(&self) -> &[T] {
        match self {
            // What does not lie in one piece was copied.
            Buffer::Borrowed(array) => array.as_slice().unwrap_or_default(),
            Buffer::Copied(numbers) => numbers,
        }
    }
}

fn in_one_piece<'py, T: Element>(array: &Bound<'py, PyAny>) -> Option<Buffer<'py, T>> {
    let array = array.cast::<PyArray1<T>>().ok()?.try_readonly().ok()?;
    array.as_slice().is_ok().then_some(Buffer::Borrowed(array))
}

impl<'py> BorrowedRows<'py> {
    /// From what `millstream._frames.take_apart` gives:
    /// `("matrix", array)`, `("columns", [(name, array, categories or None)], height)`,
    /// `("sparse", starts, indices, values, width)`, `("parsed", rows, width)`.
    pub fn new(parts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = parts.py();
        let unreadable = |what: String| raise(py, &Fault::wrong_type(what));
        let kind: String = parts.get_item(0)?.extract()?;
        match kind.as_str() {
            "matrix" => {
                let array = parts.get_item(1)?;
                let matrix = borrow_matrix(&array)
                    .ok_or_else(|| unreadable(format!("cannot read a matrix of {}", shown(&array))))?;
                let width = each_type!(Matrix::&matrix, array => array.as_array().ncols());
                let columns = (0..width as i64).map(|place| Column::Number(Name::Number(place))).collect();
                Ok(BorrowedRows::Matrix { array: matrix, columns })
            }
            "columns" => {
                let list = parts.get_item(1)?.cast_into::<PyList>()?;
                let height: usize = parts.get_item(2)?.extract()?;
                let (mut arrays, mut columns) = (Vec::new(), Vec::new());
                let mut seen = FxHashSet::default();
                for part in list.iter() {
                    let name = read_name(&part.get_item(0)?)?;
                    if !seen.insert(name.clone()) {
                        return Err(raise(py, &Fault::value(format!("duplicate column {name}"))));
                    }
                    let array = part.get_item(1)?;
                    let numbers = borrow_column(&array)
                        .ok_or_else(|| unreadable(format!("column {name}: cannot read {}", shown(&array))))?;
                    let length = each_type!(Numbers::&numbers, array => array.as_array().len());
                    if length != height {
                        return Err(raise(
                            py,
                            &Fault::value(format!("column {name} has {length} rows, the batch has {height}")),
                        ));
                    }
                    let categories = part.get_item(2)?;
                    columns.push(if categories.is_none() {
                        Column::Number(name)
                    } else {
                        let texts: Vec<String> = categories.extract()?;
                        Column::Nominal(name, texts.iter().map(|text| Arc::from(text.as_str())).collect())
                    });
                    arrays.push(numbers);
                }
                Ok(BorrowedRows::Columns { arrays, columns, height })
            }
            "parsed" => {
                let rows = parts.get_item(1)?.cast_into::<ParsedRows>()?;
                let width: usize = parts.get_item(2)?.extract()?;
                let table = rows.get().table(width);
                let sound = || is_sound(table.starts, table.indices, table.values.len(), width);
                if width > u32::MAX as usize || !(rows.get().is_known(width) || sound()) {
                    return Err(raise(py, &Fault::value(UNSOUND)));
                }
                Ok(BorrowedRows::Parsed(rows, width))
            }
            _ => Self::new_sparse(parts),
        }
    }

    fn new_sparse(parts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = parts.py();
        let whole = |place: usize| -> PyResult<Vec<usize>> {
            let array = parts.get_item(place)?;
            let unreadable = || raise(py, &Fault::wrong_type(format!("cannot read indices of {}", shown(&array))));
            let numbers = read_integers(&array).ok_or_else(unreadable)?;
            numbers.into_iter().map(|number| usize::try_from(number).map_err(|_| unreadable())).collect()
        };
        let starts = whole(1)?;
        let array = parts.get_item(2)?;
        let indices = match in_one_piece(&array) {
            Some(indices) => indices,
            None => {
                let narrow = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
                Buffer::Copied(whole(2)?.into_iter().map(narrow).collect())
            }
        };
        let array = parts.get_item(3)?;
        let values = match in_one_piece(&array) {
            Some(values) => values,
            None => {
                let numbers = borrow_column(&array).ok_or_else(|| {
                    raise(py, &Fault::wrong_type(format!("cannot read values of {}", shown(&array))))
                })?;
                Buffer::Copied(
                    each_type!(Numbers::&numbers, array => array.as_array().iter().map(|x| x.as_float()).collect()),
                )
            }
        };
        let width: usize = parts.get_item(4)?.extract()?;
        if width > u32::MAX as usize || !is_sound(&starts, indices.as_slice(), values.as_slice().len(), width) {
            return Err(raise(py, &Fault::value(UNSOUND)));
        }
        Ok(BorrowedRows::Sparse { starts, indices, values, width })
    }

    /// A table over the lent rows, which can be read without Python.
    pub fn table(&self) -> View2<'_> {
        match self {
            BorrowedRows::Matrix { array, columns } => {
                let direct = match array {
                    Matrix::F64(array) => array.as_slice().ok().filter(|_| array.as_array().is_standard_layout()),
                    _ => None,
                };
                let (height, views) = each_type!(Matrix::array, array => {
                    let array: ArrayView2<'_, _> = array.as_array();
                    (array.nrows(), (0..array.ncols()).map(|place| array.index_axis_move(Axis(1), place).into()).collect())
                });
                View2 { height, columns, views, direct, sparse: None }
            }
            BorrowedRows::Columns { arrays, columns, height } => {
                let views =
                    arrays.iter().map(|array| each_type!(Numbers::array, array => array.as_array().into()));
                View2 { height: *height, columns, views: views.collect(), direct: None, sparse: None }
            }
            BorrowedRows::Sparse { starts, indices, values, width } => View2 {
                height: starts.len() - 1,
                columns: &[],
                views: Vec::new(),
                direct: None,
                sparse: Some(SparseTable {
                    starts,
                    indices: indices.as_slice(),
                    values: values.as_slice(),
                    width: *width,
                    finite: false,
                    crossed: None,
                }),
            },
            BorrowedRows::Parsed(rows, width) => {
                let rows = rows.get();
                let sparse = Some(rows.table(*width));
                View2 { height: rows.__len__(), columns: &[], views: Vec::new(), direct: None, sparse }
            }
        }
    }
}

const UNSOUND: &str = "a sparse matrix with indices out of order or out of range";

/// Whether rows begin where the one before ends, and columns ascend within each and are below `width`.
fn is_sound(starts: &[usize], indices: &[u32], values: usize, width: usize) -> bool {
    let bounded = starts.last() == Some(&values) && starts.windows(2).all(|pair| pair[0] <= pair[1]);
    bounded
        && indices.len() == values
        && starts.windows(2).all(|pair| {
            let row = &indices[pair[0]..pair[1]];
            // To the end in any case: a loop that may stop does not run in vector registers.
            let ascends = row.windows(2).fold(true, |ascends, two| ascends & (two[0] < two[1]));
            ascends && row.last().is_none_or(|&last| (last as usize) < width)
        })
}

macro_rules! into_view {
    ($($variant:ident $type:ty),*) => {
        $(impl<'a> From<ArrayView1<'a, $type>> for View<'a> {
            fn from(view: ArrayView1<'a, $type>) -> Self { View::$variant(view) }
        })*
    };
}
into_view!(F64 f64, F32 f32, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8, Bool bool);

pub struct View2<'a> {
    height: usize,
    columns: &'a [Column],
    views: Vec<View<'a>>,
    direct: Option<&'a [f64]>,
    sparse: Option<SparseTable<'a>>,
}

impl Table for View2<'_> {
    fn height(&self) -> usize {
        self.height
    }

    fn columns(&self) -> &[Column] {
        self.columns
    }

    fn block<'b>(&'b self, from: usize, to: usize, buffer: &'b mut Vec<f64>) -> &'b [f64] {
        let width = self.columns.len();
        if let Some(numbers) = self.direct {
            return &numbers[from * width..to * width];
        }
        buffer.resize((to - from) * width, 0.0);
        for (place, view) in self.views.iter().enumerate() {
            each_type!(View::*view, view => scatter(view, from, to, width, place, buffer));
            if let Column::Nominal(..) = self.columns[place] {
                for cell in buffer[place..].iter_mut().step_by(width).filter(|cell| **cell < 0.0) {
                    *cell = f64::NAN;
                }
            }
        }
        buffer
    }

    fn sparse(&self) -> Option<SparseTable<'_>> {
        self.sparse
    }
}

/// The numbers of a one-dimensional array of any type.
pub fn read_numbers(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    match borrow_column(array) {
        Some(numbers) => {
            Ok(each_type!(Numbers::&numbers, array => array.as_array().iter().map(|x| x.as_float()).collect()))
        }
        None => Err(raise(array.py(), &Fault::wrong_type(format!("cannot read numbers from {}", shown(array))))),
    }
}

/// The numbers of a one-dimensional array, which is borrowed if they lie side by side, and else copied.
pub enum Column64<'py> {
    Borrowed(PyReadonlyArray1<'py, f64>),
    Copied(Vec<f64>),
}

impl<'py> Column64<'py> {
    pub fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let borrowed = array.cast::<PyArray1<f64>>().ok().and_then(|array| array.try_readonly().ok());
        match borrowed.filter(|array| array.as_slice().is_ok()) {
            Some(array) => Ok(Column64::Borrowed(array)),
            None => read_numbers(array).map(Column64::Copied),
        }
    }

    pub fn numbers(&self) -> &[f64] {
        match self {
            // Side by side, as checked above.
            Column64::Borrowed(array) => array.as_slice().unwrap_or_default(),
            Column64::Copied(numbers) => numbers,
        }
    }
}

/// The whole numbers of a one-dimensional array, if it holds such; booleans are not whole numbers here.
pub fn read_integers(array: &Bound<'_, PyAny>) -> Option<Vec<i64>> {
    match borrow_column(array)? {
        Numbers::I64(array) => Some(array.as_array().iter().copied().collect()),
        Numbers::I32(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        Numbers::I16(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        Numbers::I8(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        Numbers::U64(array) => array.as_array().iter().map(|&x| x.try_into().ok()).collect(),
        Numbers::U32(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        Numbers::U16(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        Numbers::U8(array) => Some(array.as_array().iter().map(|&x| x.into()).collect()),
        _ => None,
    }
}
