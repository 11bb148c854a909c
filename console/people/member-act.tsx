import { useAct } from '../api/query.ts'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/people.ts'
import { type Link, type Member, nameOf, refusalOf } from './member.ts'

/** An act on a member that is confirmed first. */
export type MemberAct = { readonly kind: 'link' | 'suspend' | 'reactivate' | 'remove'; readonly member: Member }

type MemberActProps = {
  readonly act: MemberAct | undefined
  readonly onClose: () => void
  readonly onLink: (link: Link) => void
}

/** Titles and texts of the question. */
const textsOf = ({ kind, member }: MemberAct) => {
  const name = nameOf(member)
  const isPending = member.status === 'PENDING_INVITE'
  return {
    link: {
      title: words.newLinkTitle(name),
      why: isPending ? words.newLinkWhy : words.passwordLinkWhy,
      act: words.createLink,
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

const states = { suspend: 'SUSPENDED', reactivate: 'ACTIVE', remove: 'DELETED' } as const

export const MemberActDialog = ({ act, onClose, onLink }: MemberActProps) => {
  const stale = ['GET /open/members'] as const
  const change = useAct('PATCH /open/members/:user_uuid', { stale })
  const invite = useAct('POST /open/members/:user_uuid/invitation', { stale })
  const close = () => {
    change.reset()
    invite.reset()
    onClose()
  }
  const confirm = async () => {
    if (!act) return
    const { kind, member } = act
    const params = { user_uuid: member.uuid }
    if (kind === 'link') {
      const made = await invite({ params })
      if (!made) return
      close()
      onLink({ name: nameOf(member), url: made.invite_url, until: made.expires_at })
    } else if (await change({ params, body: { status: states[kind] } })) {
      close()
      const toasts = { suspend: words.suspended, reactivate: words.reactivated, remove: words.removed }
      showToast(toasts[kind](nameOf(member)))
    }
  }
  const texts = act && textsOf(act)
  return (
    <ConfirmDialog
      open={act !== undefined}
      title={texts?.title ?? ''}
      act={texts?.act ?? ''}
      danger={act?.kind === 'suspend' || act?.kind === 'remove'}
      busy={change.isPending || invite.isPending}
      error={refusalOf(change.error ?? invite.error)?.message}
      onClose={close}
      onConfirm={() => void confirm()}
    >
      <p>{texts?.why}</p>
    </ConfirmDialog>
  )
}
