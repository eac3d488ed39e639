;; What of the JSON scanner is worth sixteen bytes at a time, and the loop over nested values around it. Assembled into scan-wasm.ts by
;; assemble.ts; used by json.ts, which also finds what is wrong when a function here returns -1.
;;
;; Memory: 256..511 one byte per byte value, not 0 for hex digits; 512..767 the closing brackets of what is open, by depth; the body
;; from 1024 on, followed by at least 64 zero bytes, which are no part of any JSON: every loop ends there. Positions count from the
;; body's first byte.
(module
  (memory (export "memory") 2)

  ;; Steps over the rest of a string; $at is behind its opening quote. Result: 2 * (position behind the closing quote) + (1 when there
  ;; is an escape), or -1.
  (func $string (export "string") (param $at i32) (result i32)
    (local $hits i32) (local $i i32) (local $back i32) (local $carry i32) (local $escaped i32) (local $ends i32)
    (local $below i32) (local $low v128) (local $high v128)
    ;; Without escapes. With its second bit flipped the quote becomes 0x20: one comparison finds it and the control characters.
    (loop $plain
      (local.set $low (v128.load offset=1024 (local.get $at)))
      (local.set $hits
        (i8x16.bitmask
          (v128.or
            (i8x16.lt_u
              (v128.xor (local.get $low) (v128.const i32x4 0x02020202 0x02020202 0x02020202 0x02020202))
              (v128.const i32x4 0x21212121 0x21212121 0x21212121 0x21212121))
            (i8x16.eq (local.get $low) (v128.const i32x4 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c)))))
      (if (i32.eqz (local.get $hits))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br $plain))))
    (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $hits))))
    (local.set $i (i32.load8_u offset=1024 (local.get $at)))
    (if (i32.eq (local.get $i) (i32.const 0x22))
      (then (return (i32.shl (i32.add (local.get $at) (i32.const 1)) (i32.const 1)))))
    (if (i32.ne (local.get $i) (i32.const 0x5c)) (then (return (i32.const -1))))
    ;; From the first escape on, 32 bytes at a time and without a branch per escape: in JSON inside of JSON there is one every few
    ;; bytes, and many would be mispredicted. Bit n of a mask stands for byte n.
    (loop $escapes
      (local.set $low (v128.load offset=1024 (local.get $at)))
      (local.set $high (v128.load offset=1040 (local.get $at)))
      (local.set $back
        (i32.or
            (i8x16.bitmask (i8x16.eq (local.get $low) (v128.const i32x4 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c)))
            (i32.shl (i8x16.bitmask (i8x16.eq (local.get $high) (v128.const i32x4 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c 0x5c5c5c5c))) (i32.const 16))))
      ;; Which bytes stand behind a backslash that counts: runs of backslashes pair up, which a subtraction does for all runs at once
      ;; (J. Keiser, D. Lemire: simdjson). $carry: the block before ended in such a backslash.
      (local.set $i (i32.and (local.get $back) (i32.xor (local.get $carry) (i32.const -1))))
      (local.set $i
        (i32.xor
          (i32.sub (i32.or (i32.shl (local.get $i) (i32.const 1)) (i32.const 0xaaaaaaaa)) (local.get $i))
          (i32.const 0xaaaaaaaa)))
      (local.set $escaped (i32.xor (local.get $i) (i32.or (local.get $back) (local.get $carry))))
      (local.set $carry (i32.shr_u (i32.and (local.get $i) (local.get $back)) (i32.const 31)))
      (local.set $ends
        (i32.and
          (i32.or
            (i8x16.bitmask (i8x16.eq (local.get $low) (v128.const i32x4 0x22222222 0x22222222 0x22222222 0x22222222)))
            (i32.shl (i8x16.bitmask (i8x16.eq (local.get $high) (v128.const i32x4 0x22222222 0x22222222 0x22222222 0x22222222))) (i32.const 16)))
          (i32.xor (local.get $escaped) (i32.const -1))))
      ;; The bytes before the closing quote; all of them while there is none.
      (local.set $below
        (i32.sub (i32.and (local.get $ends) (i32.sub (i32.const 0) (local.get $ends))) (i32.const 1)))
      (local.set $escaped (i32.and (local.get $escaped) (local.get $below)))
      (if
        (i32.and
          (i32.or
            (i8x16.bitmask (i8x16.lt_u (local.get $low) (v128.const i32x4 0x20202020 0x20202020 0x20202020 0x20202020)))
            (i32.shl (i8x16.bitmask (i8x16.lt_u (local.get $high) (v128.const i32x4 0x20202020 0x20202020 0x20202020 0x20202020))) (i32.const 16)))
          (local.get $below))
        (then (return (i32.const -1))))
      ;; Behind a backslash stand " / \ b f n r t u: the bytes whose two halves share a bit in these tables. The mask is of those that
      ;; share none.
      (local.set $hits
        (i32.or
          (i8x16.bitmask
            (i8x16.eq
              (v128.and
                (i8x16.swizzle
                  (v128.const i32x4 0x000d0000 0x00040808 0x00000000 0x01040002)
                  (v128.and (local.get $low) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f)))
                (i8x16.swizzle
                  (v128.const i32x4 0x00010000 0x08040200 0x00000000 0x00000000)
                  (i8x16.shr_u (local.get $low) (i32.const 4))))
              (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000)))
          (i32.shl
            (i8x16.bitmask
              (i8x16.eq
              (v128.and
                (i8x16.swizzle
                  (v128.const i32x4 0x000d0000 0x00040808 0x00000000 0x01040002)
                  (v128.and (local.get $high) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f)))
                (i8x16.swizzle
                  (v128.const i32x4 0x00010000 0x08040200 0x00000000 0x00000000)
                  (i8x16.shr_u (local.get $high) (i32.const 4))))
              (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000)))
            (i32.const 16))))
      (if (i32.and (local.get $escaped) (local.get $hits)) (then (return (i32.const -1))))
      (local.set $escaped
        (i32.and
          (local.get $escaped)
          (i32.or
            (i8x16.bitmask (i8x16.eq (local.get $low) (v128.const i32x4 0x75757575 0x75757575 0x75757575 0x75757575)))
            (i32.shl (i8x16.bitmask (i8x16.eq (local.get $high) (v128.const i32x4 0x75757575 0x75757575 0x75757575 0x75757575))) (i32.const 16)))))
      (block $digits
        (loop $unicode
          (br_if $digits (i32.eqz (local.get $escaped)))
          (local.set $i (i32.add (local.get $at) (i32.ctz (local.get $escaped))))
          (if (i32.eqz (i32.load8_u offset=256 (i32.load8_u offset=1025 (local.get $i)))) (then (return (i32.const -1))))
          (if (i32.eqz (i32.load8_u offset=256 (i32.load8_u offset=1026 (local.get $i)))) (then (return (i32.const -1))))
          (if (i32.eqz (i32.load8_u offset=256 (i32.load8_u offset=1027 (local.get $i)))) (then (return (i32.const -1))))
          (if (i32.eqz (i32.load8_u offset=256 (i32.load8_u offset=1028 (local.get $i)))) (then (return (i32.const -1))))
          (local.set $escaped (i32.and (local.get $escaped) (i32.sub (local.get $escaped) (i32.const 1))))
          (br $unicode)))
      (if (local.get $ends)
        (then
          (return
            (i32.or
              (i32.shl (i32.add (i32.add (local.get $at) (i32.ctz (local.get $ends))) (i32.const 1)) (i32.const 1))
              (i32.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 32)))
      (br $escapes))
    (unreachable))

  ;; The position of the next byte that is no white space.
  (func $space (param $at i32) (result i32)
    (local $byte i32)
    (loop $more
      (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
      (if (i32.gt_u (local.get $byte) (i32.const 0x20)) (then (return (local.get $at))))
      (if
        (i32.eqz
          (i32.or
            (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
            (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09)))))
        (then (return (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $more))
    (unreachable))

  ;; Steps over a key and its colon, to the first byte of the value; or -1.
  (func $key (param $at i32) (result i32)
    (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x22)) (then (return (i32.const -1))))
    (local.set $at (call $string (i32.add (local.get $at) (i32.const 1))))
    (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
    (local.set $at (call $space (i32.shr_u (local.get $at) (i32.const 1))))
    (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x3a)) (then (return (i32.const -1))))
    (call $space (i32.add (local.get $at) (i32.const 1))))

  ;; Steps over at least one digit; or -1.
  (func $digits (param $at i32) (result i32)
    (if (i32.gt_u (i32.sub (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x30)) (i32.const 9)) (then (return (i32.const -1))))
    (loop $more
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.lt_u (i32.sub (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x30)) (i32.const 10))))
    (local.get $at))

  ;; Steps over a number; or -1.
  (func $number (param $at i32) (result i32)
    (local $byte i32)
    (if (i32.eq (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x2d))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
    (if (i32.eq (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x30))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1))))
      (else
        (local.set $at (call $digits (local.get $at)))
        (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))))
    (if (i32.eq (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x2e))
      (then
        (local.set $at (call $digits (i32.add (local.get $at) (i32.const 1))))
        (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))))
    (if (i32.ne (i32.or (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x20)) (i32.const 0x65)) (then (return (local.get $at))))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
    (if (i32.or (i32.eq (local.get $byte) (i32.const 0x2b)) (i32.eq (local.get $byte) (i32.const 0x2d)))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
    (call $digits (local.get $at)))

  ;; Steps over the array or object at $at; $depth are open around it, $deepest at most may be. Result: the position behind, or -1.
  (func $nested (export "nested") (param $at i32) (param $depth i32) (param $deepest i32) (result i32)
    (local $outside i32) (local $byte i32) (local $close i32)
    (local.set $outside (local.get $depth))
    (loop $value
      (block $behind
        (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
        (if (i32.eq (local.get $byte) (i32.const 0x22))
          (then
            (local.set $at (call $string (i32.add (local.get $at) (i32.const 1))))
            (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
            (local.set $at (i32.shr_u (local.get $at) (i32.const 1)))
            (br $behind)))
        ;; The two opening brackets differ in this bit, and each from its closing one by two.
        (if (i32.eq (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x7b))
          (then
            (if (i32.eq (local.get $depth) (local.get $deepest)) (then (return (i32.const -1))))
            (local.set $close (i32.add (local.get $byte) (i32.const 2)))
            (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
            (if (i32.eq (i32.load8_u offset=1024 (local.get $at)) (local.get $close))
              (then
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br $behind)))
            (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
            (i32.store8 offset=512 (local.get $depth) (local.get $close))
            (if (i32.eq (local.get $close) (i32.const 0x7d))
              (then
                (local.set $at (call $key (local.get $at)))
                (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))))
            (br $value)))
        (if
          (i32.or
            (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
            (i32.eq (local.get $byte) (i32.const 0x2d)))
          (then
            (local.set $at (call $number (local.get $at)))
            (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
            (br $behind)))
        ;; null, true, or fals and e.
        (local.set $byte (i32.load offset=1024 (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br_if $behind (i32.eq (local.get $byte) (i32.const 0x6c6c756e)))
        (br_if $behind (i32.eq (local.get $byte) (i32.const 0x65757274)))
        (if (i32.ne (local.get $byte) (i32.const 0x736c6166)) (then (return (i32.const -1))))
        (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x65)) (then (return (i32.const -1))))
        (local.set $at (i32.add (local.get $at) (i32.const 1))))
      ;; Brackets close until a comma brings the next value.
      (loop $closing
        (if (i32.eq (local.get $depth) (local.get $outside)) (then (return (local.get $at))))
        (local.set $at (call $space (local.get $at)))
        (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
        (local.set $close (i32.load8_u offset=512 (local.get $depth)))
        (if (i32.eq (local.get $byte) (i32.const 0x2c))
          (then
            (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
            (if (i32.eq (local.get $close) (i32.const 0x7d))
              (then
                (local.set $at (call $key (local.get $at)))
                (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))))
            (br $value)))
        (if (i32.ne (local.get $byte) (local.get $close)) (then (return (i32.const -1))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
        (br $closing)))
    (unreachable)))
