/**
 * Returns the media type that a header Content-Type states, in lower case and without parameters; empty without one.
 * @param header as read; of a repeated one the first value counts
 */
export const mediaTypeOf = (header: string | readonly string[] | null | undefined): string => {
  const [first = ''] = [header ?? ''].flat()
  return first.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
