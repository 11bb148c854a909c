/** The two fields that the interface has for the name of a user. */
export type Names = { readonly first_name: string; readonly last_name: string }

/** Returns the name of a user as it is shown. SQL has the same function. */
export const fullName = ({ first_name, last_name }: Names): string => `${first_name} ${last_name}`.trim()

/** Returns a name with single spaces. */
export const tidyName = (name: string): string => name.trim().replace(/\s+/g, ' ')

/**
 * Splits a name into two fields, which joined give it again. A field that the name still has is kept: “Ana María Gil” keeps
 * its first name “Ana María” when “Gil” changes.
 * @param before the present fields
 */
export const splitName = (text: string, before: Names): Names => {
  const name = tidyName(text)
  const [first, last] = [tidyName(before.first_name), tidyName(before.last_name)]
  if (first && `${name} `.startsWith(`${first} `)) return { first_name: first, last_name: name.slice(first.length + 1) }
  if (last && name.endsWith(` ${last}`)) return { first_name: name.slice(0, -last.length - 1), last_name: last }
  const [first_name = '', ...rest] = name.split(' ')
  return { first_name, last_name: rest.join(' ') }
}
