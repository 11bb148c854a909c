import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { Status } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words } from '../words/en/webhook-portal.ts'
import { type Endpoint, stateTones, type Webhook } from './endpoint.ts'
import { EndpointForm } from './endpoint-form.tsx'

type Props = { readonly endpoint: Endpoint; readonly search: PageOf<typeof paths.webhook>['search'] }

/** The events of an endpoint: one webhook each. */
export const Subscriptions = ({ endpoint, search }: Props) => {
  const { route: go } = useLocation()
  const webhook = endpoint.endpoint_uuid
  const numbers = useQuery('GET /open/sms/channels', {})
  const [removing, setRemoving] = useState<Webhook>()
  const remove = useAct('DELETE /open/webhooks/:webhook_uuid', {
    stale: ['GET /open/webhooks/endpoints'],
    after: () => {
      showToast(words.subscriptions.removed(removing?.event_name ?? ''))
      setRemoving(undefined)
      if (endpoint.webhooks.length === 1) go(paths.webhooks(), true)
    },
  })
  const numberOfChannel = (uuid: string) => {
    const found = numbers.data?.channels.find((each) => each.uuid === uuid || each.voip_number_setup_uuid === uuid)
    return found ? <PhoneNumber number={found.phone_number} /> : <code class="break">{uuid}</code>
  }
  const tab = { tab: 'events' }
  return (
    <div class="stack">
      <div class="row">
        <Button icon="plus" onClick={() => go(paths.webhook({ webhook }, { ...tab, act: 'add' }))}>
          {words.form.addEvents}
        </Button>
      </div>
      <Table
        label={words.subscriptions.caption}
        rows={endpoint.webhooks}
        rowKey={({ uuid }) => uuid}
        rowName={({ event_name }) => event_name}
        columns={[
          {
            key: 'event',
            title: words.subscriptions.event,
            cell: ({ event_name }) => <code class="break">{event_name}</code>,
          },
          {
            key: 'channel',
            title: words.subscriptions.channel,
            cell: ({ channel_uuid }) =>
              channel_uuid ? numberOfChannel(channel_uuid) : <span class="soft">{words.subscriptions.everything}</span>,
          },
          {
            key: 'state',
            title: words.state,
            cell: ({ state }) => <Status tone={stateTones[state]}>{words.states[state]}</Status>,
          },
          {
            key: 'since',
            title: words.subscriptions.since,
            cell: ({ created_at }) => <Moment time={created_at} show="day" />,
          },
        ]}
        menu={(one) => [
          {
            text: words.subscriptions.remove,
            icon: 'trash-2',
            danger: true,
            onSelect: () => {
              remove.reset()
              setRemoving(one)
            },
          },
        ]}
        empty={null}
      />
      <Dialog
        open={search.act === 'add'}
        title={words.form.addEvents}
        onClose={() => go(paths.webhook({ webhook }, tab), true)}
      >
        <EndpointForm
          address={endpoint.hook_url}
          onDone={() => go(paths.webhook({ webhook }, tab), true)}
          onCancel={() => go(paths.webhook({ webhook }, tab), true)}
        />
      </Dialog>
      <ConfirmDialog
        open={removing !== undefined}
        title={words.subscriptions.removeTitle(removing?.event_name ?? '')}
        act={words.subscriptions.remove}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={() => setRemoving(undefined)}
        onConfirm={() => removing && void remove({ params: { webhook_uuid: removing.uuid } })}
      >
        <p>{words.endpoint.removeWhy}</p>
      </ConfirmDialog>
    </div>
  )
}
