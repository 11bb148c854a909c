/** Joins class names and leaves out what is false. */
export const classes = (...names: readonly (string | false | undefined | null)[]): string =>
  names.filter(Boolean).join(' ')
