/** What the search finds, in the order of its groups. */
export const searchKinds = ['conversations', 'texts', 'notes', 'contacts', 'numbers', 'calls', 'events'] as const

export type SearchKind = (typeof searchKinds)[number]
