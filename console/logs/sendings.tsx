import { useLocation } from 'preact-iso/router'
import { useList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Moment, Money, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/sendings.ts'
import { number } from '../words/format.ts'
import { SendMany } from './send-many.tsx'
import { type Sending, SendingState } from './sending-state.tsx'

const columns = () => [
  {
    key: 'text',
    title: words.text,
    cell: ({ text }: Sending) => (
      <span class="log-text" dir="auto">
        {text}
      </span>
    ),
  },
  { key: 'from', title: words.from, cell: ({ from_number: from }: Sending) => <PhoneNumber number={from} /> },
  { key: 'state', title: words.state, cell: ({ state }: Sending) => <SendingState state={state} /> },
  {
    key: 'accepted',
    title: words.accepted,
    align: 'end' as const,
    narrow: true,
    cell: ({ accepted }: Sending) => number(accepted),
  },
  {
    key: 'refused',
    title: words.refused,
    align: 'end' as const,
    narrow: true,
    cell: ({ refused }: Sending) => number(refused),
  },
  {
    key: 'price',
    title: words.price,
    align: 'end' as const,
    narrow: true,
    cell: ({ price }: Sending) => <Money amount={String(price)} exact />,
  },
  {
    key: 'time',
    title: words.time,
    align: 'end' as const,
    narrow: true,
    cell: ({ created_at: at }: Sending) => <Moment time={at} />,
  },
]

/** Texts that were sent to many numbers at once. */
export const SendingsPage = ({ search }: PageOf<typeof paths.sendings>) => {
  const { route: go } = useLocation()
  const sendings = useList('GET /open/sms/sendings', { query: {}, live: ['sms.message'] })
  const send = (
    <Button kind="primary" icon="send" haspopup="dialog" onClick={() => go(paths.sendings({}, { send: '1' }))}>
      {words.send}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.about} actions={send}>
      <ListTable
        of={sendings}
        label={words.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.sending({ sending: uuid })}
        empty={
          <Empty icon="send" title={words.empty} act={send}>
            {words.emptyHint}
          </Empty>
        }
      />
      <SendMany open={search.send !== undefined} onClose={() => go(paths.sendings(), true)} />
    </Page>
  )
}
