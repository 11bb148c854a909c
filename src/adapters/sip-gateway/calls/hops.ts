/** Header of INVITEs to trunks with the number of our calls that dialled one another. */
export const hopsHeader = 'X-Trunkline-Hops'

/** Header of INVITEs to ourselves with the id of the call that calls. */
export const ownCallHeader = 'X-Trunkline-Call'
