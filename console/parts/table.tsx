// biome-ignore-all lint/a11y/noRedundantRoles: `display: block` of the cards takes the roles of a table away in WebKit.

import type { ComponentChildren } from 'preact'
import { words } from '../words/en/parts.ts'
import { classes } from './classes.ts'
import type { Refusal } from './form.tsx'
import { Icon } from './icon.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { ErrorState, Skeleton } from './page-states.tsx'

export type Column<Row> = {
  /** Also the name of the sort in the URL. */
  readonly key: string
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers and money: at the end, in tabular figures. */
  readonly align?: 'end'
  readonly sortable?: boolean
  /** Takes only the room that it needs. */
  readonly narrow?: boolean
}

export type Sort = { readonly by: string; readonly descending: boolean }

export type TableProps<Row> = {
  /** Names the table for screen readers. */
  readonly label: string
  readonly rows: readonly Row[] | undefined
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string
  /** The text of a row for its menu and its checkbox. Default: its key. */
  readonly rowName?: (row: Row) => string
  readonly rowHref?: (row: Row) => string | undefined
  readonly sort?: Sort | undefined
  readonly onSort?: (sort: Sort) => void
  readonly menu?: (row: Row) => readonly MenuItem[]
  readonly selected?: ReadonlySet<string>
  readonly onSelect?: (selected: ReadonlySet<string>) => void
  readonly loading?: boolean
  readonly refusal?: (Refusal & { readonly status?: number | undefined }) | undefined
  readonly onRetry?: () => void
  readonly empty: ComponentChildren
  readonly current?: string | undefined
}

const HeadCell = <Row,>({
  column,
  sort,
  onSort,
}: { column: Column<Row> } & Pick<TableProps<Row>, 'sort' | 'onSort'>) => {
  const isSorted = sort?.by === column.key
  const direction = isSorted ? (sort.descending ? 'descending' : 'ascending') : undefined
  return (
    <th
      role="columnheader"
      scope="col"
      class={classes(column.align === 'end' && 'is-end', column.narrow && 'is-narrow')}
      aria-sort={column.sortable && onSort ? (direction ?? 'none') : undefined}
    >
      {column.sortable && onSort ? (
        <button
          type="button"
          class="sort"
          onClick={() => onSort({ by: column.key, descending: isSorted ? !sort.descending : false })}
        >
          {column.title}
          <Icon
            name={isSorted ? (sort.descending ? 'arrow-down' : 'arrow-up') : 'chevrons-up-down'}
            class={isSorted ? '' : 'is-faint'}
          />
        </button>
      ) : (
        column.title
      )}
    </th>
  )
}

const Row = <Row,>({ row, props }: { row: Row; props: TableProps<Row> }) => {
  const { columns, rowKey, rowName = rowKey, rowHref, menu, selected, onSelect, current } = props
  const key = rowKey(row)
  const href = rowHref?.(row)
  const toggle = (isOn: boolean) => {
    const rest = [...(selected ?? [])].filter((one) => one !== key)
    onSelect?.(new Set(isOn ? [...rest, key] : rest))
  }
  return (
    <tr
      role="row"
      class={classes(href !== undefined && 'has-link', (selected?.has(key) || current === key) && 'is-selected')}
    >
      {onSelect && (
        <td role="cell" class="is-check">
          <label class="check-target">
            <input
              type="checkbox"
              aria-label={words.table.select(rowName(row))}
              checked={selected?.has(key) ?? false}
              onChange={({ currentTarget }) => toggle(currentTarget.checked)}
            />
          </label>
        </td>
      )}
      {columns.map((column, index) => {
        const content = column.cell(row)
        const className = classes(column.align === 'end' && 'is-end tabular', column.narrow && 'is-narrow')
        if (index > 0)
          return (
            <td key={column.key} role="cell" class={className} data-title={column.title}>
              <div class="cell">{content}</div>
            </td>
          )
        return (
          <th key={column.key} role="rowheader" scope="row" class={className}>
            <div class="cell">
              {href === undefined ? (
                content
              ) : (
                <a class="row-link" href={href} aria-current={current === key ? 'true' : undefined}>
                  {content}
                </a>
              )}
            </div>
          </th>
        )
      })}
      {menu && (
        <td role="cell" class="is-menu">
          <Menu items={menu(row)} label={words.table.actionsOf(rowName(row))} size="small" />
        </td>
      )}
    </tr>
  )
}

/** A table: sorted and paged by the server, cards below 600 px. The whole row leads to its page. */
export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, rows, columns, sort, onSort, selected, onSelect, menu, rowKey, loading, refusal, onRetry, empty } =
    props
  if (refusal) return <ErrorState refusal={refusal} onRetry={onRetry} />
  if (!rows) return <Skeleton rows={5} shape="table" />
  if (rows.length === 0) return <>{empty}</>
  const isAll = rows.every((row) => selected?.has(rowKey(row)))
  return (
    <div class="table-holder">
      <table role="table" class="table" aria-label={label} aria-busy={loading ? 'true' : undefined}>
        <thead role="rowgroup">
          <tr role="row">
            {onSelect && (
              <th role="columnheader" scope="col" class="is-check">
                <label class="check-target">
                  <input
                    type="checkbox"
                    aria-label={words.table.selectAll}
                    checked={isAll}
                    indeterminate={!isAll && (selected?.size ?? 0) > 0}
                    onChange={() => onSelect(new Set(isAll ? [] : rows.map(rowKey)))}
                  />
                </label>
              </th>
            )}
            {columns.map((column) => (
              <HeadCell key={column.key} column={column} sort={sort} {...(onSort ? { onSort } : {})} />
            ))}
            {menu && (
              <th role="columnheader" scope="col" class="is-menu">
                <span class="for-readers">{words.actions}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <Row key={rowKey(row)} row={row} props={props} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

export type PaginationProps = {
  /** Undefined on the first and on the last page. */
  readonly newerHref?: string | undefined
  readonly olderHref?: string | undefined
  readonly note?: ComponentChildren
}

/** Keyset pages have no numbers: newer and older. */
export const Pagination = ({ newerHref, olderHref, note }: PaginationProps) => (
  <nav class="pagination" aria-label={words.table.pages}>
    <span class="soft">{note}</span>
    <span class="row">
      <PageLink href={newerHref} text={words.table.newer} isOlder={false} />
      <PageLink href={olderHref} text={words.table.older} isOlder={true} />
    </span>
  </nav>
)

const PageLink = ({ href, text, isOlder }: { href: string | undefined; text: string; isOlder: boolean }) => {
  const arrow = <Icon name={isOlder ? 'chevron-right' : 'chevron-left'} class="icon-turn" />
  const content = (
    <>
      {!isOlder && arrow}
      {text}
      {isOlder && arrow}
    </>
  )
  const look = 'button button-plain button-small'
  if (href !== undefined)
    return (
      <a class={look} href={href}>
        {content}
      </a>
    )
  return (
    // biome-ignore lint/a11y/useValidAnchor: a link without an address is a disabled link (ARIA in HTML).
    <a class={look} role="link" aria-disabled="true">
      {content}
    </a>
  )
}
