import type { ReplyOf } from '../api/client.ts'
import type { ApiError } from '../api/errors.ts'
import type { Refusal } from '../parts/form.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/people.ts'

export type Member = ReplyOf<'GET /open/members'>['members'][number]

/** A link that was just created, and the person that it is for. */
export type Link = { readonly name: string; readonly url: string; readonly until: string }

/** Shows a link, or says where it was mailed. */
export const passOn = (
  name: string,
  { invite_url, mailed_to, expires_at }: Pick<ReplyOf<'POST /open/members'>, 'invite_url' | 'mailed_to' | 'expires_at'>,
  show: (link: Link) => void,
): void => {
  if (invite_url === undefined) showToast(words.mailed(mailed_to ?? name))
  else show({ name, url: invite_url, until: expires_at })
}

/** Returns a refusal in the words of the page, with the way out. */
export const refusalOf = (error: ApiError | null): Refusal | undefined => {
  if (!error) return undefined
  const { code, requestId, fields } = error
  const email = { message: words.emailExists, code, requestId, fields: { email: words.emailExists } }
  if (code === 'email_exists') return email
  const message = { last_owner: words.lastOwner, operator_needed: words.operatorNeeded, role: words.roleBeyond }[code]
  return message === undefined ? { message: error.message, code, requestId, fields } : { message, code, requestId }
}
