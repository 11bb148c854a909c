import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useList, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Figure } from '../parts/page.tsx'
import { Empty, Skeleton } from '../parts/page-states.tsx'
import { Moment, Money, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { endOfDay, startOfDay } from '../shell/days.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { approximate, compare, isDecimal } from '../words/decimal.ts'
import { words } from '../words/en/money.ts'
import { words as parts } from '../words/en/parts.ts'
import { exactTime, money } from '../words/format.ts'
import { daysLeft, rateDays, rateSince } from './forecast.ts'
import { LowBalance } from './low-balance.tsx'
import { PaidItem } from './paid-item.tsx'

type Transfer = ReplyOf<'GET /open/ledger'>['transfers'][number]
type Search = PageOf<typeof paths.money>['search']

// The kinds are the keys of their words.
const kinds = () => Object.keys(words.kinds) as (keyof typeof words.kinds)[]

/** The second of a moment: a link to one entry shows the entries of its second. */
const secondOf = (at: string | undefined) => {
  const time = Date.parse(at ?? '')
  if (Number.isNaN(time)) return null
  return { since: new Date(time).toISOString(), until: new Date(time + 1_000).toISOString() }
}

const queryOf = (search: Search) => {
  const second = secondOf(search.at)
  if (second) return second
  return {
    kind: kinds().find((kind) => kind === search.kind),
    since: startOfDay(search.since),
    until: endOfDay(search.until),
  }
}

const Maker = ({ by }: { by: Transfer['made_by'] }) => {
  if (by === undefined) return <NoValue />
  return <span dir="auto">{by.kind === 'operator' ? words.ledger.operator : (by.label ?? words.ledger.key)}</span>
}

const Change = ({ transfer: { change, amount } }: { transfer: Transfer }) =>
  approximate(change) === 0 ? (
    <span class="soft">
      <Money amount={amount} exact /> {words.ledger.fromHold}
    </span>
  ) : (
    <Money amount={change} exact signed />
  )

/** Kinds whose note a person wrote. Other notes repeat what the entry shows. */
const hasNote = new Set<Transfer['kind']>(['credit', 'debit', 'correction', 'write_off', 'number_purchase'])

const columns = () => [
  {
    key: 'kind',
    title: words.ledger.kind,
    cell: ({ kind, note }: Transfer) => (
      <span>
        {words.kinds[kind]}
        {note && hasNote.has(kind) && (
          <span class="soft money-note" dir="auto">
            {note}
          </span>
        )}
      </span>
    ),
  },
  { key: 'item', title: words.ledger.item, cell: ({ item }: Transfer) => <PaidItem item={item} /> },
  { key: 'by', title: words.ledger.madeBy, cell: ({ made_by: by }: Transfer) => <Maker by={by} /> },
  {
    key: 'change',
    title: words.ledger.change,
    align: 'end' as const,
    cell: (transfer: Transfer) => <Change transfer={transfer} />,
  },
  {
    key: 'time',
    title: words.ledger.time,
    align: 'end' as const,
    cell: ({ created_at: at }: Transfer) => <Moment time={at} />,
  },
]

/** Balance, held money, how long the balance lasts, and the limit of the warning. */
const Balance = ({ search }: { search: Search }) => {
  const { route: go } = useLocation()
  const since = useMemo(() => rateSince(Date.now()), [])
  const info = useQuery('GET /open/info', { live: ['balance'] })
  const week = useQuery('GET /open/usage', { query: { since, step: 'month' }, live: ['balance'] })
  const balance = info.data?.balance
  if (!balance) return null
  const { amount, held, low_balance: low } = balance
  const spent = week.data?.total.amount
  const days = spent === undefined || !isDecimal(spent) ? undefined : daysLeft(amount, spent)
  const rate = approximate(spent ?? '0') / rateDays
  const exact = money(amount, { exact: true })
  const isLow = low !== undefined && compare(amount, low) < 0
  const lasts =
    days === undefined ? (
      <NoValue />
    ) : days === null ? (
      words.ledger.noRate
    ) : days > 365 ? (
      words.ledger.overAYear
    ) : (
      words.ledger.days(days)
    )
  return (
    <>
      {isLow && (
        <Banner tone="notice" title={words.ledger.isLow}>
          {words.ledger.isLowText}
        </Banner>
      )}
      <div class="money-figures">
        <Figure
          name={words.ledger.balance}
          value={<Money amount={amount} />}
          note={exact === money(amount) ? undefined : exact}
        />
        <Figure
          name={words.ledger.held}
          value={<Money amount={held} />}
          note={<a href={paths.holds()}>{words.ledger.heldNote}</a>}
        />
        <Figure
          name={words.ledger.forecast}
          value={lasts}
          note={days === null ? words.ledger.noSpending : words.ledger.rate(money(rate.toFixed(rate < 0.01 ? 6 : 2)))}
        />
        <Figure
          name={words.ledger.low}
          value={low === undefined ? words.ledger.lowNever : <Money amount={low} />}
          note={
            may('account') ? (
              <Button size="small" kind="quiet" icon="pencil" onClick={() => go(paths.money({}, { low: '1' }))}>
                {words.ledger.lowChange}
              </Button>
            ) : (
              words.ledger.lowNote
            )
          }
        />
      </div>
      {may('account') && <LowBalance open={search.low !== undefined} current={low} />}
    </>
  )
}

/** The balance and the ledger, with what each entry paid for. */
export const LedgerPage = ({ search }: PageOf<typeof paths.money>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const transfers = useList('GET /open/ledger', { query, live: ['balance'] })
  // The figures stand above the list: it waits for them, so that nothing moves.
  const info = useQuery('GET /open/info', { live: ['balance'] })
  const isReady = info.data !== undefined || info.error !== null
  const filters: Filter[] = [
    {
      kind: 'choice',
      name: 'kind',
      label: words.ledger.kindFilter,
      options: kinds().map((value) => ({ value, text: words.kinds[value] })),
    },
    { kind: 'date', name: 'since', label: parts.filters.since },
    { kind: 'date', name: 'until', label: parts.filters.until },
  ]
  const second = secondOf(search.at)
  const isFiltered = Object.values(query).some((value) => value !== undefined)
  const frame = {
    title: words.ledger.title,
    lead: words.ledger.about,
    actions: <ExportButton route="GET /open/ledger" request={{ query }} file="ledger.csv" />,
  }
  if (!isReady)
    return (
      <Page {...frame}>
        <Skeleton rows={8} shape="card" />
      </Page>
    )
  return (
    <Page {...frame}>
      <Balance search={search} />
      {second ? (
        <Banner
          tone="info"
          actions={
            <ButtonLink size="small" href={paths.money()}>
              {words.ledger.showAll}
            </ButtonLink>
          }
        >
          {words.ledger.one(exactTime(second.since))}
        </Banner>
      ) : (
        <Filters filters={filters} values={search} onChange={(values) => go(paths.money({}, values))} />
      )}
      <ListTable
        of={transfers}
        label={words.ledger.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        current={search.entry}
        empty={
          isFiltered ? (
            <Empty icon="search" title={words.ledger.noneFiltered}>
              {words.ledger.noneFilteredHint}
            </Empty>
          ) : (
            <Empty icon="wallet" title={words.ledger.none}>
              {words.ledger.noneHint}
            </Empty>
          )
        }
      />
    </Page>
  )
}
