import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useList } from '../api/query.ts'
import { isPushOn, ownSubscription } from '../live/push.ts'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Section } from '../parts/page.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment } from '../parts/values.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { words } from '../words/en/notifications.ts'
import { browserName } from './browser-name.ts'

const { devices: text } = words

type Subscription = ReplyOf<'GET /open/me/push-subscriptions'>['subscriptions'][number]

const columns = [
  {
    key: 'browser',
    title: text.browser,
    cell: ({ uuid, user_agent }: Subscription) => (
      <span class="row">
        <span title={user_agent}>{browserName(user_agent)}</span>
        {uuid === ownSubscription.value && <Status tone="good">{words.browser.title}</Status>}
      </span>
    ),
  },
  {
    key: 'since',
    title: text.since,
    cell: ({ created_at }: Subscription) => <Moment time={created_at} show="day" />,
  },
  {
    key: 'last',
    title: text.last,
    cell: ({ delivered_at, failed_at, failure = '' }: Subscription) =>
      failed_at ? (
        <Status tone="bad">{text.failed(failure)}</Status>
      ) : delivered_at ? (
        <Moment time={delivered_at} show="relative" />
      ) : (
        text.never
      ),
  },
]

/** Browsers that get the notifications of the person. */
export const PushDevices = () => {
  const list = useList('GET /open/me/push-subscriptions', {})
  const [revoking, setRevoking] = useState<Subscription>()
  const test = useAct('POST /open/me/push-subscriptions/:push_subscription_uuid/test', {
    stale: ['GET /open/me/push-subscriptions'],
    after: () => showToast(words.browser.testSent),
  })
  const revoke = useAct('DELETE /open/me/push-subscriptions/:push_subscription_uuid', {
    stale: ['GET /open/me/push-subscriptions'],
    after: () => {
      if (revoking?.uuid === ownSubscription.value) isPushOn.value = false
      setRevoking(undefined)
      showToast(text.revoked)
    },
  })
  return (
    <Section title={text.title} lead={text.about}>
      <ListTable
        of={list}
        label={text.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={({ user_agent }) => browserName(user_agent)}
        menu={(row) => [
          {
            text: text.test,
            icon: 'bell',
            onSelect: () => void test({ params: { push_subscription_uuid: row.uuid } }),
          },
          { text: text.revoke, icon: 'trash-2', onSelect: () => setRevoking(row) },
        ]}
        empty={<Empty icon="bell" title={text.empty} />}
      />
      <ConfirmDialog
        open={revoking !== undefined}
        title={text.revokeTitle(browserName(revoking?.user_agent ?? ''))}
        act={text.revoke}
        danger
        busy={revoke.isPending}
        error={revoke.error?.message}
        onClose={() => setRevoking(undefined)}
        onConfirm={() => revoking && void revoke({ params: { push_subscription_uuid: revoking.uuid } })}
      >
        <p>{text.revokeWhy}</p>
      </ConfirmDialog>
    </Section>
  )
}
