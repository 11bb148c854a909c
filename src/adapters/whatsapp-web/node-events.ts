import type { ChatEvents, ChatGroupEvent } from '../../ports/chat.ts'
import { bareOf, isGroup } from './codec/jid.ts'
import type { BinaryNode } from './library.ts'
import { type ResolveNumber, remoteOf } from './message-parser.ts'

const childrenOf = ({ content }: BinaryNode): readonly BinaryNode[] => (Array.isArray(content) ? content : [])

const timeOf = ({ attrs }: BinaryNode): number => Number(attrs.t) * 1_000 || Date.now()

/** Publishes a `call` node: an offer or the end of a call. */
export const publishCall = async (
  events: ChatEvents,
  channel: string,
  node: BinaryNode,
  numberOfPerson: ResolveNumber,
): Promise<void> => {
  const [about] = childrenOf(node)
  const id = about?.attrs['call-id']
  if (!about || !id) return
  const isOffer = about.tag === 'offer'
  if (!isOffer && !['terminate', 'reject', 'accept', 'timeout'].includes(about.tag)) return
  const creator = about.attrs['call-creator'] ?? about.attrs.from ?? node.attrs.from ?? ''
  const from = await remoteOf(creator, about.attrs.caller_pn, node.attrs.notify ?? null, numberOfPerson)
  await events.call(channel, {
    id,
    from,
    group: about.attrs['group-jid'] ?? null,
    video: childrenOf(about).some(({ tag }) => tag === 'video'),
    at: timeOf(node),
    state: isOffer ? 'offered' : 'ended',
  })
}

const groupChangeOf = (tag: string, isTheirOwn: boolean): ChatGroupEvent['what'] => {
  if (tag === 'add' || tag === 'create') return 'join'
  if (tag === 'leave' || (tag === 'remove' && isTheirOwn)) return 'leave'
  return tag === 'remove' ? 'remove' : 'changed'
}

/** Publishes a group `notification` node (`w:gp2`): members that joined or left, or another change. */
export const publishGroupChange = async (
  events: ChatEvents,
  channel: string,
  node: BinaryNode,
  numberOfPerson: ResolveNumber,
): Promise<void> => {
  const { id, from, type, participant } = node.attrs
  if (type !== 'w:gp2' || !id || !from || !isGroup(from)) return
  for (const [place, about] of childrenOf(node).entries()) {
    const subject = childrenOf(about).find(({ tag }) => tag === 'group') ?? about
    const members = childrenOf(subject).filter(({ tag }) => tag === 'participant')
    const who = await Promise.all(
      members.map(({ attrs }) => remoteOf(attrs.jid ?? '', attrs.phone_number, null, numberOfPerson)),
    )
    const isTheirOwn = members.length === 1 && bareOf(members[0]?.attrs.jid ?? '') === bareOf(participant ?? '')
    await events.group(channel, {
      id: place === 0 ? id : `${id}/${place}`,
      group: from,
      name: subject.attrs.subject ?? null,
      what: groupChangeOf(about.tag, isTheirOwn),
      who,
      at: timeOf(node),
    })
  }
}
