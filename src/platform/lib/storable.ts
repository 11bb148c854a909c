/** True if PostgreSQL can store the text: it refuses U+0000, and half of a surrogate pair in JSON. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * Returns text that PostgreSQL can store: U+FFFD replaces each U+0000 and each half of a surrogate pair.
 * @param maxLength in UTF-16 units; a pair cut in half ends as U+FFFD
 */
export const storable = (text: string, maxLength = text.length): string =>
  text.slice(0, maxLength).replaceAll('\0', '\ufffd').toWellFormed()

const withStorableKeys = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Object.keys(value).every(isStorable)
    ? Object.fromEntries(Object.entries(value).map(([key, part]) => [storable(key), part]))
    : value

/** Returns a value as JSON that PostgreSQL can store as jsonb. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? storable(part) : withStorableKeys(part)))
