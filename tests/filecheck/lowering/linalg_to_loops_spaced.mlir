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

// Every second element of a long row is written into two vectors of neighbours, without those between. In a short row,
// which is soon read again, elements are written one by one.
// CHECK-LABEL: func.func @write_every_second
// CHECK:         %[[EVEN:.*]] = arith.constant dense<[true, false, true, false, true, false, true, false]>
// CHECK:         %[[LOW:.*]] = vector.shuffle %[[V:.*]], %[[V]] [0, 0, 1, 1, 2, 2, 3, 3]
// CHECK:         vector.maskedstore %y[%{{.*}}], %[[EVEN]], %[[LOW]]
// CHECK:         %[[NEEDED:.*]] = arith.andi %[[EVEN]], %{{.*}}
// CHECK:         %[[HIGH:.*]] = vector.shuffle %[[V]], %[[V]] [4, 4, 5, 5, 6, 6, 7, 7]
// CHECK:         vector.maskedstore %y[%{{.*}}], %[[NEEDED]], %[[HIGH]]
// CHECK:         memref.store %{{.*}}, %z
// CHECK:         func.return
func.func @write_every_second(%x: memref<64xf32>, %y: memref<128xf32>, %s: memref<8xf32>, %z: memref<16xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i * 2)>], iterator_types = ["parallel"]
  } ins(%x : memref<64xf32>) outs(%y : memref<128xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i * 2)>], iterator_types = ["parallel"]
  } ins(%s : memref<8xf32>) outs(%z : memref<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}
