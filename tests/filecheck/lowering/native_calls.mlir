// RUN: mlirad-opt %s -p mlirad-nd-to-linalg | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s --check-prefix=MEMORY

// NumPy's own sort function is called for each row. What is sorted is a copy of %x if %x is needed later, and the memory
// of %y is sorted in place, since nothing else needs it.
//
//     operands of the call: its work, the array and the place of the row, the row's length, a null pointer

// CHECK-LABEL: func.func @rows
// CHECK:         %[[WORK:.+]] = arith.muli
// CHECK:         scf.for %[[ROW:.+]] = %{{.*}} iter_args(%[[ROWS:.+]] = %x) -> (tensor<4x?xf32>)
// CHECK:           func.call @"mlirad.native.sorting.sort.stable.float32(4x?)"(%{{[^,]*}}, %[[ROWS]], %{{[^)]*}})
// CHECK-SAME:        mlirad.native = "mlirad.native.sorting.sort.stable.float32", mlirad.ties = array<i64: 1, 0>
// CHECK-SAME:        mlirad.error = "MemoryError"

// MEMORY-LABEL: func.func @rows
// MEMORY:         %[[COPY:.+]] = memref.alloc
// MEMORY:         "memref.copy"(%x, %[[COPY]])
// MEMORY:         scf.for
// MEMORY:           func.call @{{.*}}sort.stable.float32{{.*}}(%{{[^,]*}}, %[[COPY]], %{{.*}} -> ()
func.func @rows(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %s = nd.sort %x {kind = "stable"} : tensor<4x?xf32>
  return %s : tensor<4x?xf32>
}

// CHECK-LABEL: func.func @in_place
// MEMORY-LABEL: func.func @in_place
// MEMORY-NOT:    memref.copy
// MEMORY:        func.call @{{.*}}sort.quicksort.float64(9){{.*}}
func.func @in_place(%x: tensor<9xf64>) -> tensor<9xf64> {
  %y = nd.sin %x : tensor<9xf64>
  %s = nd.sort %y {kind = "quicksort"} : tensor<9xf64>
  return %s : tensor<9xf64>
}
