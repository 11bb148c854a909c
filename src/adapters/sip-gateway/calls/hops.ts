/**
 * Header of the INVITEs of dialled calls, with the number of our calls that dialled one another. Every trunk gets it: a
 * number elsewhere may be forwarded to one of ours, and a carrier that shows another caller leaves no other trace of a loop.
 * The value is a count of at most four, so a carrier learns nothing else by it.
 */
export const hopsHeader = 'X-Trunkline-Hops'

/** Header of INVITEs to ourselves with the id of the call that calls. */
export const ownCallHeader = 'X-Trunkline-Call'
