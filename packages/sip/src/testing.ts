/** Seeded random numbers, and mutation of messages with them. */

/** mulberry32: small, and the same on every platform. */
export const makeRandom = (from: number) => {
  let state = from
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const spice = [
  '\r\n',
  '\r\n\r\n',
  ' ',
  '"',
  '<',
  '>',
  ';',
  ',',
  '=',
  '\\',
  '\0',
  '%',
  '@',
  ':',
  '[',
  '99999999999',
  'Via: ',
  'é',
]

/** Returns one of the messages with up to six changes. */
export const mutate = (random: (below: number) => number, seeds: readonly Buffer[]): Buffer => {
  let octets = Buffer.from(seeds[random(seeds.length)] ?? '')
  for (let left = 1 + random(6); left > 0; left--) {
    const at = random(octets.length + 1)
    const until = Math.min(octets.length, at + random(random(3) === 0 ? 200 : 4))
    const other = seeds[random(seeds.length)] ?? octets
    const from = random(other.length)
    const put = [
      () => Buffer.from(spice[random(spice.length)] ?? ''),
      () => Buffer.from([random(256)]),
      () => other.subarray(from, from + random(60)),
      () => Buffer.alloc(0),
    ][random(4)]
    octets = Buffer.concat([octets.subarray(0, at), put?.() ?? Buffer.alloc(0), octets.subarray(until)])
  }
  return octets
}
