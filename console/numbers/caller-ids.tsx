import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Flag, Moment, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { AddCallerId, type CodeToEnter } from './add-caller-id.tsx'

type CallerId = ReplyOf<'GET /open/voip/caller-ids'>['caller_ids'][number]

const Proof = ({ verified, verification }: Pick<CallerId, 'verified' | 'verification'>) => {
  if (verified) return <Status tone="good">{words.ids.verified}</Status>
  if (verification?.state === 'pending') return <Status tone="info">{words.ids.waiting}</Status>
  return <Status tone="notice">{verification ? words.ids.expired : words.ids.unverified}</Status>
}

const columnsOf = () => [
  {
    key: 'number',
    title: words.number,
    cell: ({ phone_number, iso_country_code, friendly_name, channel_uuid }: CallerId) => (
      <span class="row">
        {iso_country_code && <Flag country={iso_country_code} />}
        <PhoneNumber
          number={phone_number}
          href={channel_uuid?.startsWith('DID') ? paths.number({ number: channel_uuid }) : undefined}
        />
        {friendly_name.replace(/\s/g, '') !== phone_number && (
          <span class="soft" dir="auto">
            {friendly_name}
          </span>
        )}
      </span>
    ),
  },
  { key: 'kind', title: words.ids.kind, cell: ({ type }: CallerId) => words.ids.kinds[type] },
  { key: 'status', title: words.status, cell: (one: CallerId) => <Proof {...one} /> },
  {
    key: 'created',
    title: words.ids.created,
    cell: ({ created_at }: CallerId) => <Moment time={created_at} show="day" />,
  },
]

/** The numbers that calls may show. */
export const CallerIdsPage = ({ search }: PageOf<typeof paths.callerIds>) => {
  const { route: go } = useLocation()
  const [code, setCode] = useState<CodeToEnter>()
  const [removing, setRemoving] = useState<CallerId>()
  // A code by call is typed on the telephone: no event says when.
  const ids = useList('GET /open/voip/caller-ids', { live: ['number'], ...(code ? { every: 3_000 } : {}) })
  const remove = useAct('DELETE /open/voip/caller-ids/:caller_id_uuid', {
    stale: ['GET /open/voip/caller-ids'],
    after: () => {
      showToast(words.ids.removed(format.phoneNumber(removing?.phone_number ?? '')))
      setRemoving(undefined)
    },
  })
  const mayChange = may('numbers')
  const add = mayChange && (
    <Button kind="primary" icon="plus" onClick={() => go(paths.callerIds({}, { add: '1' }))}>
      {words.ids.add}
    </Button>
  )
  const watched = ids.rows?.find(({ uuid }) => uuid === code?.uuid)
  return (
    <Page
      title={words.ids.title}
      crumbs={[{ text: words.title, href: paths.numbers() }]}
      lead={words.ids.about}
      actions={add}
    >
      <ListTable
        of={ids}
        label={words.ids.caption}
        columns={columnsOf()}
        rowKey={({ uuid }) => uuid}
        rowName={({ phone_number }) => format.phoneNumber(phone_number)}
        {...(mayChange
          ? {
              menu: (one: CallerId) => [
                ...(one.verified
                  ? []
                  : [
                      {
                        text: words.ids.enterCode,
                        icon: 'key-round' as const,
                        reason: one.verification?.state === 'pending' ? undefined : words.ids.expired,
                        onSelect: () =>
                          setCode({
                            uuid: one.uuid,
                            number: one.phone_number,
                            expiresAt: one.verification?.expires_at ?? one.updated_at,
                          }),
                      },
                    ]),
                {
                  text: words.ids.remove,
                  icon: 'trash-2' as const,
                  danger: true,
                  reason: one.type === 'CI' ? undefined : words.ids.fixed,
                  onSelect: () => {
                    remove.reset()
                    setRemoving(one)
                  },
                },
              ],
            }
          : {})}
        empty={
          <Empty icon="phone-outgoing" title={words.ids.empty} act={add}>
            {words.ids.emptyHint}
          </Empty>
        }
      />
      <AddCallerId
        open={search.add !== undefined || code !== undefined}
        code={code}
        isVerified={watched?.verified === true}
        onCode={setCode}
        onClose={() => {
          setCode(undefined)
          if (search.add !== undefined) go(paths.callerIds(), true)
        }}
      />
      <ConfirmDialog
        open={removing !== undefined}
        title={words.ids.removeTitle(format.phoneNumber(removing?.phone_number ?? ''))}
        act={words.ids.remove}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={() => setRemoving(undefined)}
        onConfirm={() => removing && void remove({ params: { caller_id_uuid: removing.uuid } })}
      >
        <p>{words.ids.removeWhy}</p>
      </ConfirmDialog>
    </Page>
  )
}
