import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { canUsePasskeys, createPasskey } from '../api/passkey.ts'
import { useAct, useQuery } from '../api/query.ts'
import { refreshSession } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment } from '../parts/values.tsx'
import { words } from '../words/en/security.ts'
import { browserName } from './browser-name.ts'

const { passkeys: text } = words

type List = ReplyOf<'GET /console/passkeys'>
type Passkey = List['passkeys'][number]
type Credential = Parameters<ReturnType<typeof useAct<'POST /console/passkeys'>>>[0]['body']['credential']

/** Why passkeys cannot be added here; null if they can. */
const obstacle = ({ origin }: List): string | null => {
  if (origin === undefined) return text.noName
  if (origin !== location.origin) return text.elsewhere(origin)
  return canUsePasskeys() ? null : text.noBrowser
}

/** The passkeys of the person. */
export const Passkeys = () => {
  const list = useQuery('GET /console/passkeys', {})
  const [removing, setRemoving] = useState<Passkey>()
  const create = useAct('POST /console/passkeys', {
    stale: ['GET /console/passkeys'],
    after: () => {
      showToast(text.added)
      // Accounts that require a second factor are open now.
      refreshSession()
    },
  })
  const prepare = useAct('POST /console/passkeys/options', {
    after: async ({ options }) => {
      const credential = await createPasskey(options)
      // The browser made it by the fields that the contract names.
      if (credential)
        await create({ body: { name: browserName(navigator.userAgent), credential: credential as Credential } })
    },
  })
  const remove = useAct('DELETE /console/passkeys/:passkey_uuid', {
    stale: ['GET /console/passkeys'],
    after: () => {
      setRemoving(undefined)
      showToast(text.removed)
    },
  })
  if (list.error && !list.data) return <ErrorState refusal={list.error} onRetry={list.refresh} />
  if (!list.data) return <Skeleton rows={2} />
  const why = obstacle(list.data)
  const error = prepare.error ?? create.error
  return (
    <Section title={text.title} lead={why === null && text.about}>
      <div class="stack">
        {why && <Banner tone="info">{why}</Banner>}
        {error && <Banner tone="bad">{error.message}</Banner>}
        {list.data.passkeys.length === 0 ? (
          !why && <p class="soft">{text.empty}</p>
        ) : (
          <ul class="stack" aria-label={text.title}>
            {list.data.passkeys.map((passkey) => (
              <li key={passkey.uuid} class="row">
                <strong dir="auto">{passkey.name}</strong>
                <span class="soft">
                  {text.since} <Moment time={passkey.created_at} show="day" />
                </span>
                <Button icon="trash-2" onClick={() => setRemoving(passkey)}>
                  {text.remove}
                </Button>
              </li>
            ))}
          </ul>
        )}
        {!why && (
          <p>
            <Button icon="key-round" busy={prepare.isPending || create.isPending} onClick={() => void prepare({})}>
              {text.add}
            </Button>
          </p>
        )}
      </div>
      <ConfirmDialog
        open={removing !== undefined}
        title={text.removeTitle(removing?.name ?? '')}
        act={text.removeAct}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={() => setRemoving(undefined)}
        onConfirm={() => removing && void remove({ params: { passkey_uuid: removing.uuid } })}
      >
        <p>{text.removeWhy}</p>
      </ConfirmDialog>
    </Section>
  )
}
