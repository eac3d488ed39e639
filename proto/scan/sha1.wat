;; SHA-1 of four messages at a time, one in each lane of a vector; each of them two blocks long, padding included. Assembled into
;; sha1-wasm.ts by assemble.ts; used by processors/bytes/ids.ts.
;;
;; Memory: 0..1279 the schedule of the first blocks, of which the first sixteen vectors are the messages' words; 1280..2559 that of the
;; second; 2560..2639 the digests. Word n of lane i stands at 16 * n + 4 * i. Words are numbers: nobody turns bytes around here.
(module
  (memory (export "memory") 1)

  ;; One block of each message, whose schedule is at $w.
  (func $compress (param $w i32)
    (local $p i32) (local $end i32) (local $x v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128) (local $e v128)
    (local.set $p (local.get $w))
    (local.set $end (i32.add (local.get $w) (i32.const 1024)))
    (loop $extend
      (local.set $x
        (v128.xor
          (v128.xor (v128.load offset=208 (local.get $p)) (v128.load offset=128 (local.get $p)))
          (v128.xor (v128.load offset=32 (local.get $p)) (v128.load (local.get $p)))))
      (v128.store offset=256 (local.get $p)
        (v128.or (i32x4.shl (local.get $x) (i32.const 1)) (i32x4.shr_u (local.get $x) (i32.const 31))))
      (local.set $p (i32.add (local.get $p) (i32.const 16)))
      (br_if $extend (i32.lt_u (local.get $p) (local.get $end))))
    (local.set $a (v128.load offset=2560 (i32.const 0)))
    (local.set $b (v128.load offset=2576 (i32.const 0)))
    (local.set $c (v128.load offset=2592 (i32.const 0)))
    (local.set $d (v128.load offset=2608 (i32.const 0)))
    (local.set $e (v128.load offset=2624 (i32.const 0)))
    (local.set $p (local.get $w))
    ;; A loop for each of the four functions of b, c and d.
    (local.set $end (i32.add (local.get $w) (i32.const 320)))
    (loop $choose
      (local.set $x
        (i32x4.add
          (i32x4.add
            (v128.or (i32x4.shl (local.get $a) (i32.const 5)) (i32x4.shr_u (local.get $a) (i32.const 27)))
            (v128.bitselect (local.get $c) (local.get $d) (local.get $b)))
          (i32x4.add
            (i32x4.add (local.get $e) (v128.load (local.get $p)))
            (v128.const i32x4 0x5a827999 0x5a827999 0x5a827999 0x5a827999))))
      (local.set $e (local.get $d))
      (local.set $d (local.get $c))
      (local.set $c (v128.or (i32x4.shl (local.get $b) (i32.const 30)) (i32x4.shr_u (local.get $b) (i32.const 2))))
      (local.set $b (local.get $a))
      (local.set $a (local.get $x))
      (local.set $p (i32.add (local.get $p) (i32.const 16)))
      (br_if $choose (i32.lt_u (local.get $p) (local.get $end))))
    (local.set $end (i32.add (local.get $w) (i32.const 640)))
    (loop $parity
      (local.set $x
        (i32x4.add
          (i32x4.add
            (v128.or (i32x4.shl (local.get $a) (i32.const 5)) (i32x4.shr_u (local.get $a) (i32.const 27)))
            (v128.xor (v128.xor (local.get $b) (local.get $c)) (local.get $d)))
          (i32x4.add
            (i32x4.add (local.get $e) (v128.load (local.get $p)))
            (v128.const i32x4 0x6ed9eba1 0x6ed9eba1 0x6ed9eba1 0x6ed9eba1))))
      (local.set $e (local.get $d))
      (local.set $d (local.get $c))
      (local.set $c (v128.or (i32x4.shl (local.get $b) (i32.const 30)) (i32x4.shr_u (local.get $b) (i32.const 2))))
      (local.set $b (local.get $a))
      (local.set $a (local.get $x))
      (local.set $p (i32.add (local.get $p) (i32.const 16)))
      (br_if $parity (i32.lt_u (local.get $p) (local.get $end))))
    (local.set $end (i32.add (local.get $w) (i32.const 960)))
    (loop $majority
      (local.set $x
        (i32x4.add
          (i32x4.add
            (v128.or (i32x4.shl (local.get $a) (i32.const 5)) (i32x4.shr_u (local.get $a) (i32.const 27)))
            (v128.bitselect (local.get $d) (local.get $b) (v128.xor (local.get $b) (local.get $c))))
          (i32x4.add
            (i32x4.add (local.get $e) (v128.load (local.get $p)))
            (v128.const i32x4 0x8f1bbcdc 0x8f1bbcdc 0x8f1bbcdc 0x8f1bbcdc))))
      (local.set $e (local.get $d))
      (local.set $d (local.get $c))
      (local.set $c (v128.or (i32x4.shl (local.get $b) (i32.const 30)) (i32x4.shr_u (local.get $b) (i32.const 2))))
      (local.set $b (local.get $a))
      (local.set $a (local.get $x))
      (local.set $p (i32.add (local.get $p) (i32.const 16)))
      (br_if $majority (i32.lt_u (local.get $p) (local.get $end))))
    (local.set $end (i32.add (local.get $w) (i32.const 1280)))
    (loop $last
      (local.set $x
        (i32x4.add
          (i32x4.add
            (v128.or (i32x4.shl (local.get $a) (i32.const 5)) (i32x4.shr_u (local.get $a) (i32.const 27)))
            (v128.xor (v128.xor (local.get $b) (local.get $c)) (local.get $d)))
          (i32x4.add
            (i32x4.add (local.get $e) (v128.load (local.get $p)))
            (v128.const i32x4 0xca62c1d6 0xca62c1d6 0xca62c1d6 0xca62c1d6))))
      (local.set $e (local.get $d))
      (local.set $d (local.get $c))
      (local.set $c (v128.or (i32x4.shl (local.get $b) (i32.const 30)) (i32x4.shr_u (local.get $b) (i32.const 2))))
      (local.set $b (local.get $a))
      (local.set $a (local.get $x))
      (local.set $p (i32.add (local.get $p) (i32.const 16)))
      (br_if $last (i32.lt_u (local.get $p) (local.get $end))))
    (v128.store offset=2560 (i32.const 0) (i32x4.add (local.get $a) (v128.load offset=2560 (i32.const 0))))
    (v128.store offset=2576 (i32.const 0) (i32x4.add (local.get $b) (v128.load offset=2576 (i32.const 0))))
    (v128.store offset=2592 (i32.const 0) (i32x4.add (local.get $c) (v128.load offset=2592 (i32.const 0))))
    (v128.store offset=2608 (i32.const 0) (i32x4.add (local.get $d) (v128.load offset=2608 (i32.const 0))))
    (v128.store offset=2624 (i32.const 0) (i32x4.add (local.get $e) (v128.load offset=2624 (i32.const 0)))))

  ;; The digests of the four messages.
  (func $hash (export "hash")
    (v128.store offset=2560 (i32.const 0) (v128.const i32x4 0x67452301 0x67452301 0x67452301 0x67452301))
    (v128.store offset=2576 (i32.const 0) (v128.const i32x4 0xefcdab89 0xefcdab89 0xefcdab89 0xefcdab89))
    (v128.store offset=2592 (i32.const 0) (v128.const i32x4 0x98badcfe 0x98badcfe 0x98badcfe 0x98badcfe))
    (v128.store offset=2608 (i32.const 0) (v128.const i32x4 0x10325476 0x10325476 0x10325476 0x10325476))
    (v128.store offset=2624 (i32.const 0) (v128.const i32x4 0xc3d2e1f0 0xc3d2e1f0 0xc3d2e1f0 0xc3d2e1f0))
    (call $compress (i32.const 0))
    (call $compress (i32.const 1280))))
