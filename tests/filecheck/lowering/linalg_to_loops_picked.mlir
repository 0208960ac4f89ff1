// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=32 parallel=false}' | filecheck %s
// Reading a label's score as the largest of a row without the others (`mask_rows.py`) went along all rows. Only one
// element of each row is read, four rows at a time here, and one by one at the end. A place outside of the row reads some
// element, and does not take it.

"memref.global"() <{sym_name = "columns", type = memref<5xi64>, initial_value = dense<[0, 1, 2, 3, 4]> : tensor<5xi64>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "others", type = memref<5xi64>, initial_value = dense<[0, 1, 2, 3, 5]> : tensor<5xi64>, sym_visibility = "private", constant}> : () -> ()

// CHECK-LABEL: func.func @picked
// CHECK:       scf.for %[[I:.*]] =
// CHECK:         %[[LABELS:.*]] = vector.load %labels[%[[I]]]
// CHECK:         %[[IS_INSIDE:.*]] = arith.cmpi ult, %[[LABELS]]
// CHECK:         memref.load %labels[%[[I]]]
// CHECK:         %[[J:.*]] = arith.minui
// CHECK:         memref.load %x[%[[I]], %[[J]]]
// CHECK:         %[[SHIFTED:.*]] = arith.subf {{.*}} : vector<4xf64>
// CHECK:         arith.select %[[IS_INSIDE]], %[[SHIFTED]]
// CHECK:       scf.for %[[I:.*]] =
// CHECK:         memref.load %x[%[[I]], %{{.*}}]
// CHECK:         arith.subf {{.*}} : f64
// CHECK:       func.return
func.func @picked(%x: memref<90x5xf64>, %high: memref<90xf64>, %labels: memref<90xi64>, %y: memref<90xf64>) {
  %columns = memref.get_global @columns : memref<5xi64>
  %least = arith.constant 0xFFF0000000000000 : f64
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %high, %columns, %labels : memref<90x5xf64>, memref<90xf64>, memref<5xi64>, memref<90xi64>) outs(%y : memref<90xf64>) {
  ^bb0(%a: f64, %b: f64, %j: i64, %label: i64, %old: f64):
    %0 = arith.subf %a, %b : f64
    %1 = arith.cmpi eq, %j, %label : i64
    %2 = arith.select %1, %0, %least : f64
    %3 = arith.maximumf %old, %2 : f64
    linalg.yield %3 : f64
  }
  func.return
}

// Columns that the nest counts itself, in rows of columns: no two rows are neighbours in memory.

// CHECK-LABEL: func.func @across
// CHECK:       scf.for
// CHECK-NOT:     scf.for
// CHECK:         arith.minui
// CHECK-NOT:     vector
// CHECK:       func.return
func.func @across(%x: memref<70x90xf64>, %labels: memref<90x2xi64>, %y: memref<90x2xf64>) {
  %least = arith.constant 0xFFF0000000000000 : f64
  %label_row = memref.subview %labels[0, 0] [90, 1] [1, 1] : memref<90x2xi64> to memref<90xi64, strided<[2]>>
  %y_row = memref.subview %y[0, 0] [90, 1] [1, 1] : memref<90x2xf64> to memref<90xf64, strided<[2]>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %label_row : memref<70x90xf64>, memref<90xi64, strided<[2]>>) outs(%y_row : memref<90xf64, strided<[2]>>) {
  ^bb0(%a: f64, %label: i64, %old: f64):
    %0 = linalg.index 1 : index
    %j = arith.index_cast %0 : index to i64
    %1 = arith.cmpi eq, %j, %label : i64
    %2 = arith.select %1, %a, %least : f64
    %3 = arith.maximumf %old, %2 : f64
    linalg.yield %3 : f64
  }
  func.return
}

// Other numbers than those of the columns; other elements that count; and functions, which round differently alone.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     arith.minui
// CHECK:       func.return
func.func @kept(%x: memref<90x5xf64>, %labels: memref<90xi64>, %y: memref<90xf64>) {
  %columns = memref.get_global @columns : memref<5xi64>
  %others = memref.get_global @others : memref<5xi64>
  %least = arith.constant 0xFFF0000000000000 : f64
  %zero = arith.constant 0.0 : f64
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %others, %labels : memref<90x5xf64>, memref<5xi64>, memref<90xi64>) outs(%y : memref<90xf64>) {
  ^bb0(%a: f64, %j: i64, %label: i64, %old: f64):
    %1 = arith.cmpi eq, %j, %label : i64
    %2 = arith.select %1, %a, %least : f64
    %3 = arith.maximumf %old, %2 : f64
    linalg.yield %3 : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %columns, %labels : memref<90x5xf64>, memref<5xi64>, memref<90xi64>) outs(%y : memref<90xf64>) {
  ^bb0(%a: f64, %j: i64, %label: i64, %old: f64):
    %1 = arith.cmpi eq, %j, %label : i64
    %2 = arith.select %1, %a, %zero : f64
    %3 = arith.maximumf %old, %2 : f64
    linalg.yield %3 : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %columns, %labels : memref<90x5xf64>, memref<5xi64>, memref<90xi64>) outs(%y : memref<90xf64>) {
  ^bb0(%a: f64, %j: i64, %label: i64, %old: f64):
    %0 = math.exp %a : f64
    %1 = arith.cmpi eq, %j, %label : i64
    %2 = arith.select %1, %0, %least : f64
    %3 = arith.maximumf %old, %2 : f64
    linalg.yield %3 : f64
  }
  func.return
}
