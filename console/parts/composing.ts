/**
 * True for a key of an input method: it belongs to the text that is being composed. Safari ends the composition before the
 * key that ended it, which then has the code 229 only.
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === 229
