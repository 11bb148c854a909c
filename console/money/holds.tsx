import type { ReplyOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { Empty } from '../parts/page-states.tsx'
import { Moment, Money } from '../parts/values.tsx'
import type { PageOf, paths } from '../paths.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/money.ts'
import { PaidItem } from './paid-item.tsx'

type Hold = ReplyOf<'GET /open/holds'>['holds'][number]

const kindOf = (kind: string): string => Object.entries(words.kinds).find(([name]) => name === kind)?.[1] ?? kind

const columns = () => [
  { key: 'kind', title: words.holds.kind, cell: ({ kind }: Hold) => kindOf(kind) },
  { key: 'item', title: words.holds.item, cell: ({ item }: Hold) => <PaidItem item={item} /> },
  {
    key: 'amount',
    title: words.holds.amount,
    align: 'end' as const,
    cell: ({ amount }: Hold) => <Money amount={amount} exact />,
  },
  {
    key: 'since',
    title: words.holds.since,
    align: 'end' as const,
    cell: ({ created_at: at }: Hold) => <Moment time={at} show="relative" />,
  },
]

/** Money held for operations in progress. */
export const HoldsPage = (_: PageOf<typeof paths.holds>) => {
  const holds = useList('GET /open/holds', { query: {}, live: ['balance', 'call'] })
  return (
    <Page
      title={words.holds.title}
      lead={words.holds.about}
      actions={<ExportButton route="GET /open/holds" request={{ query: {} }} file="holds.csv" />}
    >
      <ListTable
        of={holds}
        label={words.holds.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        empty={
          <Empty icon="wallet" title={words.holds.none}>
            {words.holds.noneHint}
          </Empty>
        }
      />
    </Page>
  )
}
