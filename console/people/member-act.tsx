import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may, session } from '../api/session.ts'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/people.ts'
import { fullName } from '../words/format.ts'
import { type Link, type Member, passOn, refusalOf } from './member.ts'

/** An act on a member that is confirmed first. */
export type MemberAct = { readonly kind: 'link' | 'suspend' | 'reactivate' | 'remove'; readonly member: Member }

type MemberActProps = {
  readonly act: MemberAct | undefined
  readonly onClose: () => void
  readonly onLink: (link: Link) => void
}

/** Titles and texts of the question. */
const textsOf = ({ kind, member }: MemberAct, hasMail: boolean) => {
  const name = fullName(member)
  const isPending = member.status === 'PENDING_INVITE'
  return {
    link: {
      title: words.newLinkTitle(name),
      why: isPending ? words.newLinkWhy : words.passwordLinkWhy,
      act: hasMail ? words.sendLink : words.createLink,
    },
    suspend: { title: words.suspendTitle(name), why: words.suspendWhy, act: words.suspend },
    reactivate: { title: words.reactivateTitle(name), why: words.reactivateWhy, act: words.reactivate },
    remove: {
      title: words.removeTitle(name),
      why: words.removeWhy,
      act: isPending ? words.withdraw : words.remove,
    },
  }[kind]
}

type Key = ReplyOf<'GET /open/keys'>['keys'][number]

type MadeKeysProps = {
  readonly keys: readonly Key[]
  readonly revokes: boolean
  readonly onChange: (revokes: boolean) => void
}

/** The keys that the member made: programs use them, so they stay valid unless they are revoked too. */
const CreatedKeys = ({ keys, revokes, onChange }: MadeKeysProps) => (
  <div class="stack">
    <p>{words.madeKeys(keys.length)}</p>
    <ul class="plain-list">
      {keys.map(({ uuid, label, last_four }) => (
        <li key={uuid}>
          <span dir="auto">{label}</span> <code>…{last_four}</code>
        </li>
      ))}
    </ul>
    <CheckboxField name="revoke_keys" label={words.revokeKeys} checked={revokes} onChange={onChange} />
  </div>
)

const states = { suspend: 'SUSPENDED', reactivate: 'ACTIVE', remove: 'DELETED' } as const

export const MemberActDialog = ({ act, onClose, onLink }: MemberActProps) => {
  const stale = ['GET /open/members', 'GET /open/keys'] as const
  const change = useAct('PATCH /open/members/:user_uuid', { stale })
  const invite = useAct('POST /open/members/:user_uuid/invitation', { stale })
  const bars = act?.kind === 'remove' || act?.kind === 'suspend'
  const known = useQuery('GET /open/keys', { enabled: bars && may('develop') })
  const createdKeys = bars
    ? (known.data?.keys ?? []).filter(({ created_by }) => created_by?.user_uuid === act.member.uuid)
    : []
  const [revokes, setRevokes] = useState(true)
  const [isShown, setShown] = useState(false)
  const hasMail = session.value?.installation.smtp === true
  const close = () => {
    setRevokes(true)
    setShown(false)
    change.reset()
    invite.reset()
    onClose()
  }
  const confirm = async () => {
    if (!act) return
    const { kind, member } = act
    const params = { user_uuid: member.uuid }
    const revocation = createdKeys.length > 0 && revokes ? { revoke_keys: true } : {}
    if (kind === 'link') {
      const invitation = await invite({ params, body: isShown ? { delivery: 'link' } : {} })
      if (!invitation) return
      close()
      passOn(fullName(member), invitation, onLink)
    } else if (await change({ params, body: { status: states[kind], ...revocation } })) {
      close()
      const toasts = { suspend: words.suspended, reactivate: words.reactivated, remove: words.removed }
      showToast(toasts[kind](fullName(member)))
    }
  }
  const texts = act && textsOf(act, hasMail && !isShown)
  return (
    <ConfirmDialog
      open={act !== undefined}
      title={texts?.title ?? ''}
      act={texts?.act ?? ''}
      danger={bars}
      busy={change.isPending || invite.isPending}
      error={refusalOf(change.error ?? invite.error)?.message}
      onClose={close}
      onConfirm={() => void confirm()}
    >
      <p>{texts?.why}</p>
      {act?.kind === 'link' && hasMail && (
        <CheckboxField
          name="shown"
          label={words.showLink}
          hint={words.showLinkHint}
          checked={isShown}
          onChange={setShown}
        />
      )}
      {createdKeys.length > 0 && <CreatedKeys keys={createdKeys} revokes={revokes} onChange={setRevokes} />}
    </ConfirmDialog>
  )
}
