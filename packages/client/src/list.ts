/** A list, read page by page while it is iterated. Awaited, it is its first page, as the server sent it. */
export type List<Page, Field extends keyof Page> = AsyncIterable<RowOf<Page[Field]>> &
  PromiseLike<Page> & {
    /** Returns the first page as the server sent it. */
    page(): Promise<Page>
    /** Iterates over the pages. */
    pages(): AsyncIterable<Page>
    /**
     * Returns the rows as an array.
     * @param options.limit maximum number of rows, so that a long list does not fill the memory; by default all rows
     */
    toArray(options?: { readonly limit?: number }): Promise<RowOf<Page[Field]>[]>
  }

type RowOf<Rows> = Rows extends readonly (infer Row)[] ? Row : never

type Position = { readonly cursor: string } | { readonly page_number: number } | Record<string, never>

type PageFields = Readonly<Record<string, unknown>>

const rowsOf = (page: PageFields, field: string): readonly unknown[] => {
  const rows = page[field]
  return Array.isArray(rows) ? rows : []
}

/** Returns the position of the next page, or null after the last one. A cursor wins over page numbers. */
const nextPosition = (page: PageFields, rows: number, seen: number, started: number): Position | null => {
  if (typeof page.next_cursor === 'string') return { cursor: page.next_cursor }
  if (typeof page.page !== 'number' || typeof page.total !== 'number' || rows === 0) return null
  return started + seen < page.total ? { page_number: page.page + 1 } : null
}

/**
 * @param field name of the rows in a page
 * @param load reads the page at a position; the first one has none
 */
export const makeList = (
  field: string,
  load: (position: Position) => Promise<PageFields>,
): List<PageFields, string> => {
  const pages = async function* () {
    let seen = 0
    let skipped = 0
    for (let position: Position | null = {}; position; ) {
      const page = await load(position)
      yield page
      const { length } = rowsOf(page, field)
      if (seen === 0 && typeof page.page === 'number') skipped = page.page * length
      seen += length
      position = nextPosition(page, length, seen, skipped)
    }
  }
  const rows = async function* () {
    for await (const page of pages()) yield* rowsOf(page, field)
  }
  return {
    [Symbol.asyncIterator]: rows as () => AsyncIterator<never>,
    // biome-ignore lint/suspicious/noThenProperty: `await` of a list gives its first page.
    then: (onPage, onError) => load({}).then(onPage, onError),
    page: () => load({}),
    pages,
    toArray: async ({ limit = Number.POSITIVE_INFINITY } = {}) => {
      const found: never[] = []
      if (limit <= 0) return found
      for await (const row of rows()) if (found.push(row as never) >= limit) break
      return found
    },
  }
}
