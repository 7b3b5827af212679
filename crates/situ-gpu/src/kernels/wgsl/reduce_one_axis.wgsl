// Where element number r of a row is, as far as that can be told without dividing at every step.
fn place_of(r: u32) -> vec2<u32> { return vec2<u32>(0u, r); }
fn advance(at: vec2<u32>, jump: vec2<u32>) -> vec2<u32> { return at + jump; }
fn offset(at: vec2<u32>) -> u32 { return at.y * params.w[3].w; }
fn reduced(r: u32) -> u32 { return r * params.w[3].w; }
