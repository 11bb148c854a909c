// History of a contact from several lists: each is read page by page, and their rows are joined, newest first.

/** A list that is ordered by `key`, descending. */
export type Source<Row> = {
  readonly name: string
  readonly load: (cursor: string | undefined, signal: AbortSignal) => Promise<SourcePage<Row>>
}

export type SourcePage<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined }

/** Rows of a source that were read but not shown yet, and the cursor of the next ones. */
type Buffer<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined }

/** Where the next page begins: the buffer of each source. */
export type Position<Row> = Readonly<Record<string, Buffer<Row>>>

/** @param key orders rows over all sources; equal keys are one row that several lists have
 *  @param before the position that the page before returned */
export const nextRows = async <Row>(
  sources: readonly Source<Row>[],
  key: (row: Row) => string,
  size: number,
  before: Position<Row> | undefined,
  signal: AbortSignal,
): Promise<{ rows: Row[]; next: Position<Row> | undefined }> => {
  const buffers = new Map<string, Buffer<Row>>(Object.entries(before ?? {}))
  const fill = async ({ name, load }: Source<Row>): Promise<void> => {
    const known = buffers.get(name)
    if (known && (known.rows.length > 0 || known.next === undefined)) return
    const page = await load(known?.next, signal)
    buffers.set(name, page)
    // A page may be empty and not the last one.
    if (page.rows.length === 0 && page.next !== undefined) await fill({ name, load })
  }
  const rows: Row[] = []
  while (rows.length < size) {
    await Promise.all(sources.map(fill))
    const heads = [...buffers].flatMap(
      ([
        name,
        {
          rows: [row],
        },
      ]) => (row === undefined ? [] : [{ name, row }]),
    )
    const [newest] = heads.sort((one, other) => (key(one.row) < key(other.row) ? 1 : -1))
    if (!newest) break
    rows.push(newest.row)
    for (const { name, row } of heads) {
      if (key(row) !== key(newest.row)) continue
      const {
        rows: [, ...rest],
        next,
      } = buffers.get(name) ?? { rows: [], next: undefined }
      buffers.set(name, { rows: rest, next })
    }
  }
  const isOver = [...buffers.values()].every(({ rows: left, next }) => left.length === 0 && next === undefined)
  return { rows, next: isOver ? undefined : Object.fromEntries(buffers) }
}
