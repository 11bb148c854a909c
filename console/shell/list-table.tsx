import type { List } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Table, type TableProps } from '../parts/table.tsx'
import { words } from '../words/en/shell.ts'

type ListTableProps<Row> = Omit<TableProps<Row>, 'rows' | 'loading' | 'refusal' | 'onRetry'> & {
  readonly of: List<Row>
}

/** A table over a list: with its skeleton, its error, its empty state, and a button for further rows. */
export const ListTable = <Row,>({ of, ...table }: ListTableProps<Row>) => (
  <>
    <Table
      {...table}
      rows={of.rows}
      loading={of.isLoading}
      // Rows that were loaded before stay: a banner tells of a lost connection.
      refusal={of.rows ? undefined : (of.error ?? undefined)}
      onRetry={of.refresh}
    />
    {of.hasMore && (
      <div class="list-more">
        <Button busy={of.isLoadingMore} onClick={of.more}>
          {words.list.more}
        </Button>
      </div>
    )}
  </>
)
