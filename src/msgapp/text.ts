/** Text as PostgreSQL can keep it: without U+0000, and without halves of characters. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()
