/** Header of INVITEs to trunks with the number of our calls that dialled one another. */
export const hopsHeader = 'X-Trunkline-Hops'
