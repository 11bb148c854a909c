/** The text after a number: `,` `;` `p` `w` are pauses before what is keyed; `x123` and `;ext=123` (RFC 3966) extensions. */
export const extensionPattern = '^(?:;ext=|[xX,;pPwW])[0-9*#,;pPwW]+$'

const extensionShape = new RegExp(extensionPattern)

/** An extension as people write it: `ext. 12`, `, ext12`, `(extension 12)`, `#12`. */
const written = /^[,(]?\s*(?:ext(?:n|ension)?(?![a-z])[.:=\s]*|#\s*)(?=\d)([\d*#,;pw\s]+)\)?$/i

const parts =
  /^([+\d(][\d\s().\-/\u2010-\u2015]{2,60}?)\s*((?:;\s*ext=|[,(]?\s*ext(?:n|ension)?(?![a-z])|#\s*\d|[x,;pw]).*)$/is

/** Characters of a number with its extension. Longer texts are neither. */
const maxLength = 120

/** Splits a number from the pauses and the extension that follow it: these stay as they are written, without spaces. */
export const splitExtension = (text: string): { readonly number: string; readonly extension: string | null } => {
  const trimmed = text.trim()
  const [, number, rest] = (trimmed.length <= maxLength && parts.exec(trimmed)) || []
  const [, keys] = written.exec(rest ?? '') ?? []
  const extension = (keys === undefined ? rest : `x${keys}`)?.replace(/\s+/g, '')
  return number !== undefined && extension !== undefined && /[\d*#]/.test(extension) && extensionShape.test(extension)
    ? { number, extension }
    : { number: trimmed, extension: null }
}
