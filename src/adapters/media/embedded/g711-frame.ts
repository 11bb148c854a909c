// Frames of G.711: 8,000 samples per second, an octet each.

/** Octets of a millisecond. */
export const octetsPerMs = 8

/** Octets of a frame of 20 ms. */
export const frameBytes = 160
