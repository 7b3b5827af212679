// Philox 4 x 32 with 10 rounds: four words from the seed, the stream (the words of axis 0) and a block
// number.
fn philox(block: u32) -> vec4<u32> { return philox_of(block, params.w[3].zw); }
fn philox_of(block: u32, stream: vec2<u32>) -> vec4<u32> {
    var key = params.w[3].xy;
    var c = vec4<u32>(block, 0u, stream);
    for (var round = 0u; round < 10u; round++) {
        let low0 = 0xd2511f53u * c.x;
        let high0 = mul_hi(0xd2511f53u, c.x);
        let low2 = 0xcd9e8d57u * c.z;
        let high2 = mul_hi(0xcd9e8d57u, c.z);
        c = vec4<u32>(high2 ^ c.y ^ key.x, low2, high0 ^ c.w ^ key.y, low0);
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}
