import { useState } from 'preact/hooks'
import { Button } from '../../console/parts/button.tsx'
import { NewSecret } from '../../console/parts/new-secret.tsx'
import { Card, Figure, Section } from '../../console/parts/page.tsx'
import { Empty, ErrorState, Skeleton, WhoCan } from '../../console/parts/page-states.tsx'
import { Status } from '../../console/parts/status.tsx'
import { type Column, Pagination, type Sort, Table } from '../../console/parts/table.tsx'
import { Copy, Moment, Money, PhoneNumber } from '../../console/parts/values.tsx'

export const States = () => (
  <Section title="Empty, loading, error">
    <div class="split">
      <Empty icon="hash" title="No numbers yet" act={<Button icon="plus">Buy a number</Button>}>
        Numbers of this account are listed here, with what they cost and whom they ring.
      </Empty>
      <ErrorState
        refusal={{ status: 500, message: 'A fault of the server.', requestId: 'req_Zk3x9Qa1b' }}
        onRetry={() => undefined}
      />
      <ErrorState refusal={{ status: 404, message: 'No such number' }} />
      <WhoCan />
      <Skeleton rows={4} />
      <Skeleton rows={3} shape="table" />
      <NewSecret secret="whsec_c2VjcmV0" onDone={() => undefined}>
        <p class="soft">It signs requests.</p>
      </NewSecret>
    </div>
  </Section>
)

type Message = {
  readonly id: string
  readonly to: string
  readonly status: 'delivered' | 'failed' | 'sent'
  readonly cost: string
  readonly at: string
}

const messages: readonly Message[] = Array.from({ length: 8 }, (_, index) => ({
  id: `SMO01a1fccab82e4b0f9d3${index}`,
  to: `+44770090000${index}`,
  status: (['delivered', 'failed', 'sent'] as const)[index % 3] ?? 'sent',
  cost: ['0.042', '0', '0.084'][index % 3] ?? '0',
  at: new Date(Date.UTC(2026, 10, 20, 9, 14 + index)).toISOString(),
}))

const columns: readonly Column<Message>[] = [
  { key: 'to', title: 'To', cell: ({ to }) => <PhoneNumber number={to} /> },
  {
    key: 'status',
    title: 'Status',
    narrow: true,
    cell: ({ status }) => (
      <Status tone={({ delivered: 'good', failed: 'bad', sent: 'info' } as const)[status]}>{status}</Status>
    ),
  },
  {
    key: 'id',
    title: 'Message',
    cell: ({ id }) => <Copy value={id} what="message id" shown={`${id.slice(0, 10)}…`} />,
  },
  { key: 'cost', title: 'Cost', align: 'end', sortable: true, cell: ({ cost }) => <Money amount={cost} /> },
  { key: 'at', title: 'Time', sortable: true, narrow: true, cell: ({ at }) => <Moment time={at} /> },
]

export const Data = () => {
  const [sort, setSort] = useState<Sort>({ by: 'at', descending: true })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  return (
    <Section title="Data">
      <div class="split">
        <Card title="Today">
          <Figure name="Sent" value="1,204" note="97.8 % delivered" />
        </Card>
        <Card title="Balance">
          <Figure name="Available" value={<Money amount="99.96" />} note="About 9 months at this week’s rate" />
        </Card>
      </div>
      <Table
        label="Messages"
        rows={messages}
        columns={columns}
        rowKey={({ id }) => id}
        rowName={({ to }) => to}
        rowHref={({ id }) => `#${id}`}
        sort={sort}
        onSort={setSort}
        selected={selected}
        onSelect={setSelected}
        menu={() => [{ text: 'Send again' }, { text: 'Copy as curl' }]}
        empty={<Empty title="No messages" />}
      />
      <Pagination olderHref="#older" note={`${sort.by} · 8 of 214`} />
    </Section>
  )
}
