// Integers of 64 bits from two words and back, the low one first.
fn u64_of(pair: vec2<u32>) -> u64 { return (u64(pair.y) << 32u) | u64(pair.x); }
fn i64_of(pair: vec2<u32>) -> i64 { return bitcast<i64>(u64_of(pair)); }
fn u64_bits(a: u64) -> vec2<u32> { return vec2<u32>(u32(a & 0xfffffffflu), u32(a >> 32u)); }
fn i64_bits(a: i64) -> vec2<u32> { return u64_bits(bitcast<u64>(a)); }
