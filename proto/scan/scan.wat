;; What of the JSON scanner is worth sixteen bytes at a time, and the loop over nested values around it. Assembled into scan-wasm.ts by
;; assemble.ts; used by json.ts, which also finds what is wrong when a function here returns -1.
;;
;; Memory: 256..511 one byte per byte value, not 0 for hex digits; 512..767 the closing brackets of what is open, by depth; 0..255 and
;; 768..927 what `event` needs and finds (see sdk-walk.ts); the body from 1024 on, followed by at least 64 zero bytes, which are no part of any JSON: every loop ends there. Positions count from the
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
      ;; In prose most blocks have none: what is asked of them is what $plain asks.
      (if (i32.eqz (i32.or (local.get $back) (local.get $carry)))
        (then
          (local.set $hits
            (i32.or
              (i8x16.bitmask
                (i8x16.lt_u
                  (v128.xor (local.get $low) (v128.const i32x4 0x02020202 0x02020202 0x02020202 0x02020202))
                  (v128.const i32x4 0x21212121 0x21212121 0x21212121 0x21212121)))
              (i32.shl
                (i8x16.bitmask
                  (i8x16.lt_u
                    (v128.xor (local.get $high) (v128.const i32x4 0x02020202 0x02020202 0x02020202 0x02020202))
                    (v128.const i32x4 0x21212121 0x21212121 0x21212121 0x21212121)))
                (i32.const 16))))
          (if (i32.eqz (local.get $hits))
            (then
              (local.set $at (i32.add (local.get $at) (i32.const 32)))
              (br $escapes)))
          (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $hits))))
          (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x22)) (then (return (i32.const -1))))
          (return (i32.or (i32.shl (i32.add (local.get $at) (i32.const 1)) (i32.const 1)) (i32.const 1)))))
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
    (unreachable))

  ;; 1 when the body is UTF-8, which the zeros behind it end: by the tables of J. Keiser and D. Lemire (Validating UTF-8 in less than one
  ;; instruction per byte), each byte with the three before it. What stands before the body has to be ASCII.
  (func $utf8 (param $length i32) (result i32)
    (local $at i32) (local $bytes v128) (local $before v128) (local $wrong v128)
    (loop $more
      (local.set $bytes (v128.load offset=1024 (local.get $at)))
      (if (i8x16.bitmask (v128.or (local.get $bytes) (v128.load offset=1021 (local.get $at))))
        (then
          (local.set $before (v128.load offset=1023 (local.get $at)))
          (local.set $wrong
            (v128.or
              (local.get $wrong)
              (v128.xor
                (v128.and
                  (v128.or
                    (i8x16.sub_sat_u (v128.load offset=1022 (local.get $at)) (v128.const i32x4 0x60606060 0x60606060 0x60606060 0x60606060))
                    (i8x16.sub_sat_u (v128.load offset=1021 (local.get $at)) (v128.const i32x4 0x70707070 0x70707070 0x70707070 0x70707070)))
                  (v128.const i32x4 0x80808080 0x80808080 0x80808080 0x80808080))
                (v128.and
                  (v128.and
                    (i8x16.swizzle (v128.const i32x4 0x02020202 0x02020202 0x80808080 0x49150121) (i8x16.shr_u (local.get $before) (i32.const 4)))
                    (i8x16.swizzle (v128.const i32x4 0x8383a3e7 0xcbcbcb8b 0xcbcbcbcb 0xcbcbdbcb) (v128.and (local.get $before) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))))
                  (i8x16.swizzle (v128.const i32x4 0x01010101 0x01010101 0xbabaaee6 0x01010101) (i8x16.shr_u (local.get $bytes) (i32.const 4)))))))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      ;; Up to the first zero: for it a character that is cut at the end is wrong.
      (br_if $more (i32.le_u (local.get $at) (local.get $length))))
    (i32.eqz (v128.any_true (local.get $wrong))))

  ;; Writes the uuid of 36 characters at $at to $into; 0 when they are none, or the nil uuid.
  (func $uuid (param $at i32) (param $into i32) (result i32)
    (local $left v128) (local $right v128) (local $letters v128)
    (if (i32.ne (i32.load8_u offset=1032 (local.get $at)) (i32.const 0x2d)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=1037 (local.get $at)) (i32.const 0x2d)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=1042 (local.get $at)) (i32.const 0x2d)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=1047 (local.get $at)) (i32.const 0x2d)) (then (return (i32.const 0))))
    (local.set $left
      (v128.or
        (i8x16.swizzle (v128.load offset=1024 (local.get $at)) (v128.const i32x4 0x03020100 0x07060504 0x0c0b0a09 0xffff0f0e))
        (i8x16.swizzle (v128.load offset=1026 (local.get $at)) (v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0x0f0effff))))
    (local.set $right
      (v128.or
        (i8x16.swizzle (v128.load offset=1043 (local.get $at)) (v128.const i32x4 0x03020100 0x08070605 0x0c0b0a09 0xff0f0e0d))
        (i8x16.swizzle (v128.load offset=1044 (local.get $at)) (v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0x0fffffff))))
    ;; Digits to their values.
    (local.set $letters
      (i8x16.lt_u (i8x16.sub (v128.or (local.get $left) (v128.const i32x4 0x20202020 0x20202020 0x20202020 0x20202020)) (v128.const i32x4 0x61616161 0x61616161 0x61616161 0x61616161)) (v128.const i32x4 0x06060606 0x06060606 0x06060606 0x06060606)))
    (if
      (i32.eqz
        (i8x16.all_true
          (v128.or (local.get $letters) (i8x16.lt_u (i8x16.sub (local.get $left) (v128.const i32x4 0x30303030 0x30303030 0x30303030 0x30303030)) (v128.const i32x4 0x0a0a0a0a 0x0a0a0a0a 0x0a0a0a0a 0x0a0a0a0a)))))
      (then (return (i32.const 0))))
    (local.set $left (i8x16.add (v128.and (local.get $left) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f)) (v128.and (local.get $letters) (v128.const i32x4 0x09090909 0x09090909 0x09090909 0x09090909))))
    (local.set $letters
      (i8x16.lt_u (i8x16.sub (v128.or (local.get $right) (v128.const i32x4 0x20202020 0x20202020 0x20202020 0x20202020)) (v128.const i32x4 0x61616161 0x61616161 0x61616161 0x61616161)) (v128.const i32x4 0x06060606 0x06060606 0x06060606 0x06060606)))
    (if
      (i32.eqz
        (i8x16.all_true
          (v128.or (local.get $letters) (i8x16.lt_u (i8x16.sub (local.get $right) (v128.const i32x4 0x30303030 0x30303030 0x30303030 0x30303030)) (v128.const i32x4 0x0a0a0a0a 0x0a0a0a0a 0x0a0a0a0a 0x0a0a0a0a)))))
      (then (return (i32.const 0))))
    (local.set $right (i8x16.add (v128.and (local.get $right) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f)) (v128.and (local.get $letters) (v128.const i32x4 0x09090909 0x09090909 0x09090909 0x09090909))))
    (local.set $letters
      (v128.or
        (i8x16.shl
          (v128.or
            (i8x16.swizzle (local.get $left) (v128.const i32x4 0x06040200 0x0e0c0a08 0xffffffff 0xffffffff))
            (i8x16.swizzle (local.get $right) (v128.const i32x4 0xffffffff 0xffffffff 0x06040200 0x0e0c0a08)))
          (i32.const 4))
        (v128.or
          (i8x16.swizzle (local.get $left) (v128.const i32x4 0x07050301 0x0f0d0b09 0xffffffff 0xffffffff))
          (i8x16.swizzle (local.get $right) (v128.const i32x4 0xffffffff 0xffffffff 0x07050301 0x0f0d0b09)))))
    (v128.store (local.get $into) (local.get $letters))
    (v128.any_true (local.get $letters)))

  ;; The sixteen bytes at $at, from the $length-th on zero. Precondition: $length is at most sixteen.
  (func $word (param $at i32) (param $length i32) (result v128)
    (v128.and
      (v128.load offset=1024 (local.get $at))
      (v128.load offset=848 (i32.sub (i32.const 16) (local.get $length)))))

  ;; Walks the usual body of an event, and says yes or does not know. Result: a bit for each known field that is there, by its slot, or -1
  ;; for a body that has to be walked step by step, be it good or not. Tables and results: see sdk-walk.ts.
  (func $event (export "event") (param $length i32) (param $deepest i32) (result i32)
    (local $at i32) (local $start i32) (local $end i32) (local $slot i32) (local $bit i32) (local $reading i32) (local $byte i32)
    (local $there i32)
    (v128.store offset=1024 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (v128.store offset=1040 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (v128.store offset=1056 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (v128.store offset=1072 (local.get $length) (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (if (i32.eqz (call $utf8 (local.get $length))) (then (return (i32.const -1))))
    (local.set $at (call $space (i32.const 0)))
    (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x7b)) (then (return (i32.const -1))))
    (loop $member
      ;; Behind the opening bracket or a comma.
      (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
      (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x22)) (then (return (i32.const -1))))
      (local.set $start (i32.add (local.get $at) (i32.const 1)))
      (local.set $at (call $string (local.get $start)))
      (if (i32.and (local.get $at) (i32.const 0x80000001)) (then (return (i32.const -1))))
      (local.set $at (i32.shr_u (local.get $at) (i32.const 1)))
      (local.set $end (i32.sub (local.get $at) (i32.const 1)))
      (local.set $at (call $space (local.get $at)))
      (if (i32.ne (i32.load8_u offset=1024 (local.get $at)) (i32.const 0x3a)) (then (return (i32.const -1))))
      (local.set $at (call $space (i32.add (local.get $at) (i32.const 1))))
      (block $behind
        (block $known
          (local.set $byte (i32.sub (local.get $end) (local.get $start)))
          (if (i32.lt_u (local.get $byte) (i32.const 17))
            (then
              (local.set $slot
                (i32.shr_u
                  (i32.mul
                    (i32.xor
                      (i32.load offset=1024 (local.get $start))
                      (i32.load offset=1020 (local.get $end)))
                    (i32.load offset=816 (i32.const 0)))
                  (i32.const 28)))
              (br_if $known
                (i32.eqz
                  (v128.any_true
                    (v128.xor
                      (call $word (local.get $start) (local.get $byte))
                      (v128.load (i32.shl (local.get $slot) (i32.const 4)))))))))
          (local.set $at (call $nested (local.get $at) (i32.const 1) (local.get $deepest)))
          (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
          (br $behind))
        (local.set $reading (i32.load8_u offset=832 (local.get $slot)))
        (local.set $bit (i32.shl (i32.const 1) (local.get $slot)))
        (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
        (local.set $there (i32.or (local.get $there) (local.get $bit)))
        (if (i32.eq (local.get $byte) (i32.const 0x22))
          (then
            (local.set $start (i32.add (local.get $at) (i32.const 1)))
            (local.set $at (call $string (local.get $start)))
            (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
            (local.set $byte (i32.and (local.get $at) (i32.const 1)))
            (local.set $at (i32.shr_u (local.get $at) (i32.const 1)))
            (br_if $behind (i32.eq (local.get $reading) (i32.const 3)))
            (if (local.get $byte) (then (return (i32.const -1))))
            (local.set $byte (i32.sub (i32.sub (local.get $at) (local.get $start)) (i32.const 1)))
            (if (i32.lt_u (local.get $reading) (i32.const 3))
              (then
                (if (i32.ne (local.get $byte) (i32.const 36)) (then (return (i32.const -1))))
                (if
                  (i32.eqz
                    (call $uuid
                      (local.get $start)
                      (i32.add (i32.const 768) (i32.shl (local.get $reading) (i32.const 4)))))
                  (then (return (i32.const -1))))
                (i32.store offset=820 (i32.shl (local.get $reading) (i32.const 2)) (local.get $start))
                (br $behind)))
            (if (i32.ne (local.get $reading) (i32.const 9)) (then (return (i32.const -1))))
            (if (i32.gt_u (local.get $byte) (i32.const 16)) (then (return (i32.const -1))))
            ;; One of the three texts, as long as they are short enough to lie in a slot.
            (br_if $behind
              (i32.eqz (v128.any_true (v128.xor (call $word (local.get $start) (local.get $byte)) (v128.load offset=880 (i32.const 0))))))
            (br_if $behind
              (i32.eqz (v128.any_true (v128.xor (call $word (local.get $start) (local.get $byte)) (v128.load offset=896 (i32.const 0))))))
            (br_if $behind
              (i32.eqz (v128.any_true (v128.xor (call $word (local.get $start) (local.get $byte)) (v128.load offset=912 (i32.const 0))))))
            (return (i32.const -1))))
        (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
          (then
            (local.set $start (local.get $at))
            (local.set $at (call $number (local.get $at)))
            (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
            (local.set $byte (i32.sub (local.get $at) (local.get $start)))
            (if (i32.eq (local.get $reading) (i32.const 4))
              ;; Ten digits are seconds.
              (then
                (if (i32.or (i32.gt_u (local.get $byte) (i32.const 15)) (i32.eq (local.get $byte) (i32.const 10)))
                  (then (return (i32.const -1)))))
              (else
                (if (i32.ne (local.get $reading) (i32.const 5)) (then (return (i32.const -1))))
                ;; A decimal of a hundred characters is finite; with an exponent it may be not.
                (if (i32.gt_u (local.get $byte) (i32.const 100)) (then (return (i32.const -1))))))
            (loop $digits
              (local.set $byte (i32.load8_u offset=1024 (local.get $start)))
              (if (i32.gt_u (local.get $byte) (i32.const 0x39)) (then (return (i32.const -1))))
              (if (i32.eq (local.get $byte) (i32.const 0x2e))
                (then (if (i32.eq (local.get $reading) (i32.const 4)) (then (return (i32.const -1))))))
              (local.set $start (i32.add (local.get $start) (i32.const 1)))
              (br_if $digits (i32.lt_u (local.get $start) (local.get $at))))
            (br $behind)))
        (local.set $start (local.get $at))
        (local.set $at (call $nested (local.get $at) (i32.const 1) (local.get $deepest)))
        (if (i32.lt_s (local.get $at) (i32.const 0)) (then (return (i32.const -1))))
        ;; An object; true and false.
        (br_if $behind (i32.and (i32.eq (local.get $byte) (i32.const 0x7b)) (i32.eq (local.get $reading) (i32.const 8))))
        (br_if $behind
          (i32.and
            (i32.or (i32.eq (local.get $byte) (i32.const 0x74)) (i32.eq (local.get $byte) (i32.const 0x66)))
            (i32.eq (local.get $reading) (i32.const 7))))
        ;; null counts as left out, and takes back what an earlier value of the same key was.
        (if (i32.ne (local.get $byte) (i32.const 0x6e)) (then (return (i32.const -1))))
        (local.set $there (i32.xor (local.get $there) (local.get $bit))))
      (local.set $at (call $space (local.get $at)))
      (local.set $byte (i32.load8_u offset=1024 (local.get $at)))
      (br_if $member (i32.eq (local.get $byte) (i32.const 0x2c))))
    (if (i32.ne (local.get $byte) (i32.const 0x7d)) (then (return (i32.const -1))))
    (if (i32.ne (call $space (i32.add (local.get $at) (i32.const 1))) (local.get $length)) (then (return (i32.const -1))))
    (local.get $there)))
