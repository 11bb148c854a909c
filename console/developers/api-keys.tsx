import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status, Tag } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment, Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/developers.ts'
import { exactTime } from '../words/format.ts'
import { CreateKey } from './create-key.tsx'

type Key = ReplyOf<'GET /open/keys'>['keys'][number]

const Scopes = ({ scopes }: { scopes: Key['scopes'] | undefined }) =>
  scopes ? (
    <span class="row">
      {scopes.map((scope) => (
        <Tag key={scope} name={words.capabilities[scope].split(':')[0] ?? scope} />
      ))}
    </span>
  ) : (
    <span>{words.keys.allScopes}</span>
  )

const Expiry = ({ at }: { at: string | undefined }) => {
  if (!at) return <span class="soft">{words.keys.never}</span>
  if (new Date(at) < new Date()) return <Status tone="bad">{words.keys.expired}</Status>
  return <Moment time={at} show="day" />
}

const Spending = ({ spent, limit }: { spent: string | undefined; limit: string | undefined }) =>
  limit === undefined ? (
    <span class="soft">{words.keys.noLimit}</span>
  ) : (
    <span>
      <Money amount={spent ?? '0'} /> {words.keys.of} <Money amount={limit} />
    </span>
  )

const columns = [
  {
    key: 'label',
    title: words.keys.label,
    cell: ({ label, current }: Key) => (
      <span class="row">
        <span dir="auto">{label}</span>
        {current && <Status tone="info">{words.keys.current}</Status>}
      </span>
    ),
  },
  { key: 'key', title: words.keys.key, cell: ({ last_four }: Key) => <code>…{last_four}</code> },
  { key: 'scopes', title: words.keys.scopes, cell: ({ scopes }: Key) => <Scopes scopes={scopes} /> },
  {
    key: 'created',
    title: words.keys.created,
    cell: ({ created_at, created_by }: Key) => (
      <>
        <Moment time={created_at} show="day" />
        {created_by && (
          <div class="soft" dir="auto">
            {words.keys.by(created_by.name)}
          </div>
        )}
      </>
    ),
  },
  {
    key: 'used',
    title: words.keys.lastUsed,
    cell: ({ last_used_at }: Key) =>
      last_used_at ? <Moment time={last_used_at} show="relative" /> : <span class="soft">{words.keys.neverUsed}</span>,
  },
  {
    key: 'spent',
    title: words.keys.spentToday,
    cell: ({ spent_today, spend_per_day }: Key) => <Spending spent={spent_today} limit={spend_per_day} />,
  },
  { key: 'expires', title: words.keys.expires, cell: ({ expires_at }: Key) => <Expiry at={expires_at} /> },
]

/** The API keys of the account: the model of a page with a list, a form and a dangerous act. */
export const KeysPage = ({ search }: PageOf<typeof paths.keys>) => {
  const { route: go } = useLocation()
  const keys = useList('GET /open/keys', {})
  const [revoking, setRevoking] = useState<Key>()
  const revoke = useAct('DELETE /open/keys/:key_uuid', {
    stale: ['GET /open/keys'],
    after: () => {
      showToast(words.keys.revoked(revoking?.label ?? ''))
      setRevoking(undefined)
    },
  })
  // The dialog is in the address, so the palette and links can open it, and Back closes it.
  const create = (
    <Button kind="primary" icon="plus" onClick={() => go(paths.keys({}, { create: '1' }))}>
      {words.keys.create}
    </Button>
  )
  return (
    <Page title={words.keys.title} lead={words.keys.about} actions={create}>
      <ListTable
        of={keys}
        label={words.keys.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={({ label }) => label}
        menu={(key) => [
          {
            text: words.keys.revoke,
            icon: 'trash-2',
            danger: true,
            reason: key.current ? words.keys.revokeOwn : undefined,
            onSelect: () => {
              revoke.reset()
              setRevoking(key)
            },
          },
        ]}
        empty={
          <Empty icon="key-round" title={words.keys.empty} act={create}>
            {words.keys.emptyHint}
          </Empty>
        }
      />
      <CreateKey open={search.create !== undefined} onClose={() => go(paths.keys(), true)} />
      <ConfirmDialog
        open={revoking !== undefined}
        title={words.keys.revokeTitle(revoking?.label ?? '')}
        act={words.keys.revoke}
        danger
        busy={revoke.isPending}
        error={revoke.error?.message}
        onClose={() => setRevoking(undefined)}
        onConfirm={() => revoking && void revoke({ params: { key_uuid: revoking.uuid } })}
      >
        <p>{words.keys.revokeWhy}</p>
        {revoking?.last_used_at && <p>{words.keys.revokeUsed(exactTime(revoking.last_used_at))}</p>}
      </ConfirmDialog>
    </Page>
  )
}
