import { api } from '../api/client.ts'
import type { CallFacts, PhoneCall } from '../shell/phone-state.ts'
import { fullName } from '../words/format.ts'

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/

type CallContext = { readonly account: string; readonly user: string; readonly sipId: string }
type Subject = Pick<PhoneCall, 'direction' | 'number'>

/** Milliseconds before the record of a call is looked for again. */
const pause = 400
const attempts = 5

/** Returns the id of an incoming call's record, with which its Call-ID begins. */
export const recordOf = (sipId: string): string | undefined => {
  const id = uuidForm.exec(sipId)?.[0]
  return id && `CDR${id}`
}

/** The Call-ID of an outgoing call is in its record. */
const readRecord = async ({ account, user, sipId }: CallContext, { direction }: Subject) => {
  const known = recordOf(sipId)
  if (direction === 'inbound' && known !== undefined) {
    const params = { call_uuid: known }
    return (await api('GET /open/voip/call/:call_uuid', { params }, { account })).cdr
  }
  const query = { direction: 'outbound', user_uuid: user, results_per_page: 5 } as const
  const { cdrs } = await api('GET /open/voip/call-history', { query }, { account })
  return cdrs.find(({ callid }) => sipId.startsWith(callid))
}

const nameOfUser = async (uuid: string, account: string): Promise<string | undefined> => {
  const { data } = await api('GET /open/users', {}, { account })
  const user = data.users.find((each) => each.uuid === uuid)
  return user && fullName(user)
}

/** The conversation with the other side, and the last words in it. */
const readConversation = async ({ account }: CallContext, { number }: Subject): Promise<CallFacts> => {
  if (!number.startsWith('+')) return {}
  const query = { q: number, results_per_page: 5 }
  const { conversations } = await api('GET /open/conversations', { query }, { account })
  const found = conversations.find((each) => each.number === number)
  if (!found) return {}
  const { uuid: conversation, last } = found
  const isText = (last.kind === 'sms' || last.kind === 'msgapp') && last.text !== ''
  return { conversation, ...(isText ? { lastText: { text: last.text, isOurs: last.direction === 'outbound' } } : {}) }
}

/** Finds what the account knows about a call: its record, our number, and the contact. */
export const readFacts = async (known: CallContext, subject: Subject): Promise<CallFacts> => {
  for (let attempt = 1; ; attempt += 1) {
    const record = await readRecord(known, subject).catch(() => undefined)
    if (!record && attempt < attempts) {
      await new Promise((resolve) => setTimeout(resolve, pause))
      continue
    }
    const colleague = subject.number.startsWith('USR') ? await nameOfUser(subject.number, known.account) : undefined
    const name = colleague ?? record?.contact_name
    const said = await readConversation(known, subject).catch(() => ({}))
    const own = subject.direction === 'inbound' ? record?.to_number : record?.caller_id_used
    return {
      ...(record ? { uuid: record.uuid } : {}),
      // A call that the API made rings a person, at no number.
      ...(own && !own.startsWith('USR') ? { own } : {}),
      ...(name ? { name } : {}),
      ...said,
    }
  }
}
