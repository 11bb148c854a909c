import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Table } from '../parts/table.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/channels.ts'
import { words as shell } from '../words/en/shell.ts'
import { list, phoneNumber } from '../words/format.ts'
import { Pairing } from './pairing.tsx'
import { type Channel, type ChannelStatus, Proof, reasonText, State } from './state.tsx'

type Reply = ReplyOf<'GET /open/msgapp/channel/:channel_uuid'>

/** Milliseconds between reads of the status: while something is under way or a proof is late, and otherwise. */
const [busyInterval, lateInterval, calmInterval] = [2_000, 500, 4_000]

/** Seconds after which a proof is late. The status is no longer connected 12 s after the last one. */
const lateProof = 8

const intervalOf = (status: ChannelStatus | undefined): number => {
  const { phase, proof_age_seconds: age = 0 } = status ?? {}
  if (phase === 'connected') return age >= lateProof ? lateInterval : Math.min(calmInterval, (lateProof - age) * 1_000)
  return phase === undefined || phase === 'connecting' || phase === 'pairing' ? busyInterval : calmInterval
}

/** Acts on the link. Each asks first, except those that undo nothing. */
const Acts = ({ channel, onDone }: { channel: Channel; onDone: () => void }) => {
  const { route: go } = useLocation()
  const [asking, setAsking] = useState<'disconnect' | 'remove'>()
  const number = phoneNumber(channel.phone_number)
  const params = { channel_uuid: channel.uuid }
  const stale = ['GET /open/msgapp/get-numbers', 'GET /open/msgapp/channel/:channel_uuid'] as const
  const done = (text: string) => () => {
    setAsking(undefined)
    showToast(text)
    onDone()
  }
  const connect = useAct('POST /open/msgapp/channel/:channel_uuid/connect', {
    stale,
    after: () => {
      showToast(words.connecting(number))
      onDone()
    },
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const disconnect = useAct('POST /open/msgapp/channel/:channel_uuid/disconnect', {
    stale,
    after: done(words.disconnected(number)),
  })
  const remove = useAct('DELETE /open/msgapp/channel/:channel_uuid', {
    stale: ['GET /open/msgapp/get-numbers'],
    after: () => {
      showToast(words.removed(number))
      go(paths.channels(), true)
    },
  })
  const close = () => {
    disconnect.reset()
    remove.reset()
    setAsking(undefined)
  }
  const isRemoving = asking === 'remove'
  const mayConnect = !channel.enabled || channel.connection_status === 'F'
  return (
    <>
      {mayConnect && (
        <Button kind="primary" icon="play" busy={connect.isPending} onClick={() => void connect({ params })}>
          {words.connect}
        </Button>
      )}
      {channel.enabled && (
        <Button icon="unlink" onClick={() => setAsking('disconnect')}>
          {words.disconnect}
        </Button>
      )}
      <Button kind="quiet" icon="trash-2" onClick={() => setAsking('remove')}>
        {words.remove}
      </Button>
      <ConfirmDialog
        open={asking !== undefined}
        title={isRemoving ? words.removeTitle(number) : words.disconnectTitle(number)}
        act={isRemoving ? words.remove : words.disconnect}
        danger={isRemoving}
        typed={isRemoving ? number : undefined}
        busy={disconnect.isPending || remove.isPending}
        error={(disconnect.error ?? remove.error)?.message}
        onClose={close}
        onConfirm={() => void (isRemoving ? remove({ params }) : disconnect({ params }))}
      >
        <p>{isRemoving ? words.removeWhy : words.disconnectWhy}</p>
      </ConfirmDialog>
    </>
  )
}

const Abilities = ({ abilities }: { abilities: NonNullable<Reply['abilities']> }) => {
  const entries = Object.entries(words.abilities.names)
  const facts = (['yes', 'emulated', 'no'] as const).flatMap((can) => {
    const names = entries.flatMap(([name, text]) =>
      Object.entries(abilities).some(([each, value]) => each === name && value === can) ? [text] : [],
    )
    return names.length > 0 ? [{ name: words.abilities[can], value: list(names) }] : []
  })
  return (
    <Section title={words.abilities.title}>
      <KeyValue facts={facts} />
    </Section>
  )
}

const eventName = (name: string): string =>
  Object.entries(words.events.names).find(([each]) => each === name)?.[1] ?? name

const Events = ({ status }: { status: ChannelStatus }) => (
  <Section title={words.events.title}>
    <Table
      label={words.events.caption}
      rows={status.events}
      rowKey={({ event, at, detail }) => `${at} ${event} ${detail}`}
      columns={[
        { key: 'event', title: words.events.event, cell: ({ event }) => eventName(event) },
        { key: 'detail', title: words.events.detail, cell: ({ detail }) => reasonText(detail) },
        { key: 'at', title: words.events.at, cell: ({ at }) => <Moment time={at} show="exact" /> },
      ]}
      empty={<p class="soft">{words.events.empty}</p>}
    />
  </Section>
)

const factsOf = (channel: Channel, status: ChannelStatus | undefined) => [
  ...(status
    ? [
        { name: words.reason, value: reasonText(status.reason) },
        { name: words.since, value: <Moment time={status.since} show="relative" /> },
        { name: words.proof, value: <Proof seconds={status.proof_age_seconds} /> },
      ]
    : []),
  { name: words.network, value: channel.platform },
  {
    name: words.pushname,
    value: channel.pushname ? <bdi>{channel.pushname}</bdi> : <span class="soft">{words.noPushname}</span>,
  },
  { name: words.business, value: channel.is_business_profile ? words.yes : words.no },
  { name: words.timezone, value: channel.timezone },
  { name: words.created, value: <Moment time={channel.created_at} show="day" /> },
  { name: words.id, value: <Copy value={channel.uuid} what={words.id} /> },
]

/** One channel: its true state, its code while it is paired, its acts, and what happened to the link. */
export const ChannelPage = ({ params }: PageOf<typeof paths.channel>) => {
  const [interval, setInterval] = useState(busyInterval)
  const request = { params: { channel_uuid: params.channel }, live: ['msgapp.number'] }
  const channel = useQuery('GET /open/msgapp/channel/:channel_uuid', request)
  const status = useQuery('GET /open/msgapp/channel/:channel_uuid/status', {
    ...request,
    enabled: channel.data !== undefined,
    every: interval,
  })
  const nextInterval = intervalOf(status.data)
  if (nextInterval !== interval) setInterval(nextInterval)
  const found = channel.data?.channel
  const refresh = () => {
    channel.refresh()
    status.refresh()
  }
  // The status is read more often than the channel.
  const present = found && status.data ? { ...found, ...status.data } : found
  return (
    <Page
      title={found ? phoneNumber(found.phone_number) : words.channel}
      lead={found && found.friendly_name !== found.phone_number ? <bdi>{found.friendly_name}</bdi> : undefined}
      crumbs={[{ text: shell.pages.channels, href: paths.channels() }]}
      status={present && <State of={present} />}
      actions={present && may('numbers') && <Acts channel={present} onDone={refresh} />}
    >
      {found && present ? (
        <>
          {status.data?.phase === 'pairing' && status.data.enabled && may('numbers') && (
            <Pairing channel={found.uuid} status={status.data} onRefresh={refresh} />
          )}
          <Section title={words.facts}>
            <KeyValue facts={factsOf(found, status.data)} />
          </Section>
          {status.data && <Events status={status.data} />}
          {channel.data?.abilities && <Abilities abilities={channel.data.abilities} />}
        </>
      ) : channel.error ? (
        <ErrorState refusal={channel.error} onRetry={channel.refresh} />
      ) : (
        <Skeleton rows={6} />
      )}
    </Page>
  )
}
