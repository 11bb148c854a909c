import { useLocation } from 'preact-iso/router'
import { useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/channels.ts'
import { CreateChannel } from './create-channel.tsx'
import { type Channel, Proof, reasonText, State } from './state.tsx'

/** Milliseconds between reads: a proof is at most 12 s old, so its age must not be. */
const proofInterval = 4_000

const columns = [
  { key: 'number', title: words.number, cell: ({ phone_number }: Channel) => <PhoneNumber number={phone_number} /> },
  {
    key: 'name',
    title: words.name,
    cell: ({ friendly_name, phone_number }: Channel) =>
      friendly_name === phone_number ? null : <span dir="auto">{friendly_name}</span>,
  },
  {
    key: 'state',
    title: words.state,
    cell: (channel: Channel) => (
      <span class="stack stack-close">
        <span>
          <State of={channel} />
        </span>
        {channel.enabled && channel.connection_status !== 'C' && <span class="soft">{reasonText(channel.reason)}</span>}
      </span>
    ),
  },
  {
    key: 'proof',
    title: words.proof,
    cell: ({ proof_age_seconds }: Channel) => <Proof seconds={proof_age_seconds} />,
  },
  { key: 'network', title: words.network, cell: ({ platform }: Channel) => platform },
]

const isStatus = (text: string | undefined): text is 'connected' | 'disconnected' =>
  text === 'connected' || text === 'disconnected'

/** The channels of the messaging app. */
export const ChannelsPage = ({ search }: PageOf<typeof paths.channels>) => {
  const { route: go } = useLocation()
  const status = isStatus(search.status) ? search.status : undefined
  const channels = useList('GET /open/msgapp/get-numbers', {
    query: { status },
    live: ['msgapp.number'],
    every: proofInterval,
  })
  const add = may('numbers') && (
    <Button kind="primary" icon="plus" onClick={() => go(paths.channels({}, { status, create: '1' }))}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.about} actions={add}>
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: words.status.label,
            options: (['connected', 'disconnected'] as const).map((value) => ({ value, text: words.status[value] })),
          },
        ]}
        values={{ status }}
        onChange={(values) => go(paths.channels({}, values))}
      />
      <ListTable
        of={channels}
        label={words.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={({ phone_number }) => phone_number}
        rowHref={({ uuid }) => paths.channel({ channel: uuid })}
        empty={
          status ? (
            <Empty
              icon="filter"
              title={words.noMatch}
              act={<Button onClick={() => go(paths.channels())}>{words.showAll}</Button>}
            />
          ) : (
            <Empty icon="smartphone" title={words.empty} act={add}>
              {words.emptyHint}
            </Empty>
          )
        }
      />
      <CreateChannel
        open={search.create !== undefined && may('numbers')}
        onClose={() => go(paths.channels({}, { status }), true)}
        onCreated={(uuid) => go(paths.channel({ channel: uuid }), true)}
      />
    </Page>
  )
}
