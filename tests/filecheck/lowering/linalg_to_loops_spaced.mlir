// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=32 parallel=false}' | filecheck %s

// Every second element of a row, as in windows with a stride of two, is read in two vectors of neighbours. The second
// one ends with the last element that is needed: what lies behind it may be no memory of the array.
// CHECK-LABEL: func.func @every_second
// CHECK:         %[[LAST:.*]] = arith.constant dense<[true, true, true, true, true, true, true, false]>
// CHECK:         %[[LOW:.*]] = vector.load %x[%{{.*}}] : memref<60xf32>, vector<8xf32>
// CHECK:         %[[HIGH:.*]] = vector.maskedload %x[%{{.*}}], %[[LAST]], {{.*}} : memref<60xf32>
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK-NOT:     memref.load
// CHECK:         func.return
func.func @every_second(%x: memref<60xf32>, %y: memref<30xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<60xf32>) outs(%y : memref<30xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// A row read backwards, and a mask for the last points.
// CHECK-LABEL: func.func @backwards
// CHECK:         memref.reinterpret_cast {{.*}} to memref<4xf64, strided<[1], offset: ?>>
// CHECK:         %[[ROW:.*]] = vector.load
// CHECK:         vector.shuffle %[[ROW]], %[[ROW]] [3, 2, 1, 0]
// CHECK:         %[[NEEDED:.*]] = arith.xori
// CHECK:         vector.maskedload {{.*}}, %[[NEEDED]],
func.func @backwards(%x: memref<?xf64, strided<[-1], offset: ?>>, %y: memref<?xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<?xf64, strided<[-1], offset: ?>>) outs(%y : memref<?xf64>) {
  ^bb0(%a: f64, %b: f64):
    %s = arith.addf %a, %a : f64
    linalg.yield %s : f64
  }
  func.return
}
