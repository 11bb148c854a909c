import type { BinaryNode } from '../../src/adapters/whatsapp-web/library.ts'
import { shareKeys } from './messages.ts'
import { bytesOf, childOf, childrenOf, node, seconds } from './nodes.ts'
import type { Person } from './person.ts'
import type { Device, Group, World } from './world.ts'

// Queries of linked devices: a handler per `xmlns` returns the content, or throws an error code.

export class Refusal extends Error {
  readonly code: number
  constructor(code: number, text: string) {
    super(text)
    this.code = code
  }
}

type Answer = readonly BinaryNode[]
type Query = (world: World, device: Device, iq: BinaryNode) => Answer | Promise<Answer>

const keys: Query = async (world, device, iq) => {
  const [asked] = childrenOf(iq)
  if (iq.attrs.type === 'set') {
    const list = childOf(iq, 'list')
    const skey = childOf(iq, 'skey')
    if (list && skey) {
      const before = device.bundle?.keys ?? []
      const registration = bytesOf(childOf(iq, 'registration'))
      device.bundle = { registration, skey, keys: [...before, ...childrenOf(list)] }
      await shareKeys(device)
    }
    return []
  }
  if (asked?.tag === 'count') return [node('count', { value: String(device.bundle?.keys.length ?? 0) })]
  if (asked?.tag === 'digest') return [node('digest')]
  const users = childrenOf(asked).map(async ({ attrs }) => {
    const jid = attrs.jid ?? ''
    const person = world.find(jid)
    return person ? person.bundle(jid) : node('user', { jid }, [node('error', { code: '404', text: 'item-not-found' })])
  })
  return [node('list', {}, await Promise.all(users))]
}

/** A number as the network writes it: those of Brazil without the 9 that was inserted in 2012. */
const written = (digits: string): string => digits.replace(/^(55\d\d)9(\d{8})$/, '$1$2')

const usync: Query = (world, _device, iq) => {
  const sync = childOf(iq, 'usync')
  const wanted = childrenOf(childOf(sync, 'query')).map(({ tag }) => tag)
  const users = childrenOf(childOf(sync, 'list')).map((user) => {
    const phone = bytesOf(childOf(user, 'contact')).toString().replace('+', '')
    const jid = user.attrs.jid ?? `${written(phone)}@s.whatsapp.net`
    const person = world.find(jid)
    const about = wanted.flatMap((what) => {
      if (what === 'contact') return [node('contact', { type: person ? 'in' : 'out' }, phone)]
      if (!person) return []
      if (what === 'lid') return [node('lid', { val: person.lidJid })]
      if (what === 'status') return [node('status', { t: seconds() }, person.status)]
      if (what !== 'devices') return []
      const ids = ['0', ...world.devicesOf(person).map((one) => /:(\d+)@/.exec(one.jid)?.[1] ?? '0')]
      const list = ids.map((id) => node('device', { id, ...(id === '0' ? {} : { 'key-index': '1' }) }))
      return [node('devices', {}, [node('device-list', {}, list)])]
    })
    return node('user', { jid }, about)
  })
  return [node('usync', {}, [node('list', {}, users)])]
}

const groupNode = ({ id, name, description, creator, members }: Group): BinaryNode =>
  node(
    'group',
    {
      id: id.replace('@g.us', ''),
      subject: name,
      creation: seconds(),
      s_t: seconds(),
      addressing_mode: 'lid',
      creator: creator.lidJid,
      creator_pn: creator.pnJid,
    },
    [
      ...(description
        ? [node('description', { id: description.id, t: seconds() }, [node('body', {}, description.text)])]
        : []),
      ...[...members].map(([person, { admin, creator: isCreator }]) =>
        node('participant', {
          jid: person.lidJid,
          phone_number: person.pnJid,
          type: isCreator ? 'superadmin' : admin ? 'admin' : undefined,
        }),
      ),
    ],
  )

/** Numbers ending in 7 allow only their contacts to add them. */
const allowsOnlyContacts = ({ number }: Person): boolean => number.endsWith('7')

const join = (
  world: World,
  group: Group,
  jid: string,
  told: (code: string, more?: readonly BinaryNode[]) => BinaryNode,
): BinaryNode => {
  const person = world.find(jid)
  if (!person) return told('404')
  if (group.members.has(person)) return told('409')
  if (person.number.endsWith('5')) throw new Refusal(500, 'internal-server-error')
  if (allowsOnlyContacts(person)) return told('403', [node('add_request', { code: 'CODE', expiration: '1893456000' })])
  group.members.set(person, { admin: false, creator: false })
  return told('200')
}

const groups: Query = (world, device, iq) => {
  const [asked] = childrenOf(iq)
  const { account } = device
  if (asked?.tag === 'create') {
    const group = world.group(asked.attrs.subject ?? '', account)
    for (const { attrs } of childrenOf(asked)) {
      // Numbers ending in 5 are omitted from a new group, and adding them fails.
      if (!world.find(attrs.jid ?? '')?.number.endsWith('5'))
        join(world, group, attrs.jid ?? '', (code) => node('participant', { code }))
    }
    return [groupNode(group)]
  }
  if (asked?.tag === 'participating') {
    const mine = [...world.groups.values()].filter(({ members }) => members.has(account))
    return [node('groups', {}, mine.map(groupNode))]
  }
  const group = world.groups.get(iq.attrs.to ?? '')
  if (!group?.members.has(account)) throw new Refusal(404, 'item-not-found')
  switch (asked?.tag) {
    case 'query':
      group.queryCount++
      return [groupNode(group)]
    case 'description': {
      const text = bytesOf(childOf(asked, 'body')).toString()
      group.description = text ? { id: asked.attrs.id ?? '', text } : null
      return []
    }
    case 'add':
    case 'remove':
    case 'promote':
    case 'demote': {
      const outcomes = childrenOf(asked).map(({ attrs }) => {
        const jid = attrs.jid ?? ''
        const told = (code: string, more: readonly BinaryNode[] = []) =>
          node('participant', { jid, ...(code === '200' ? {} : { error: code }) }, more)
        if (asked.tag === 'add') return join(world, group, jid, told)
        const person = world.find(jid)
        const member = person && group.members.get(person)
        if (!person || !member) return told('404')
        if (asked.tag === 'remove') group.members.delete(person)
        else member.admin = asked.tag === 'promote'
        return told('200')
      })
      return [node(asked.tag, {}, outcomes)]
    }
  }
  throw new Refusal(400, 'bad-request')
}

const picture: Query = (world, { account }, iq) => {
  const { target, type } = iq.attrs
  const of = target?.endsWith('@g.us') ? world.groups.get(target) : target ? world.find(target) : account
  if (!of) throw new Refusal(404, 'item-not-found')
  if (type === 'set') {
    const given = childOf(iq, 'picture')
    of.picture = given ? bytesOf(given) : null
    return [node('picture', { id: '1' })]
  }
  if (!of.picture) throw new Refusal(404, 'item-not-found')
  return [node('picture', { id: '1', url: `https://${world.host}${world.keep(of.picture)}` })]
}

const status: Query = (_world, { account }, iq) => {
  account.status = bytesOf(childOf(iq, 'status')).toString()
  return []
}

const media: Query = (world) => [
  node('media_conn', { auth: 'of a test', ttl: '300' }, [node('host', { hostname: world.host })]),
]

/** Synchronises application state: returns new patches and applies a change. */
const appState: Query = (_world, { account: { addressBook } }, iq) => {
  const collections = childrenOf(childOf(iq, 'sync')).map((asked) => {
    const { name = '', version = '0' } = asked.attrs
    const change = childOf(asked, 'patch')
    if (name !== 'critical_unblock_low') return node('collection', { name, version })
    if (!change) {
      const news = addressBook.patches.slice(Number(version)).map((patch) => node('patch', {}, patch))
      return node('collection', { name, version: String(addressBook.version) }, [node('patches', {}, news)])
    }
    if (addressBook.concurrentContact !== null)
      addressBook.add(addressBook.concurrentContact, { fullName: 'Of the phone' })
    addressBook.concurrentContact = null
    const fault = addressBook.nextError ?? (Number(version) === addressBook.version ? null : '409')
    addressBook.nextError = null
    if (fault !== null)
      return node('collection', { name, type: 'error' }, [node('error', { code: fault, text: 'not taken' })])
    addressBook.applyPatch(bytesOf(change))
    return node('collection', { name, version: String(addressBook.version) })
  })
  return [node('sync', {}, collections)]
}

const nothing: Query = () => []

export const queries: { readonly [xmlns: string]: Query } = {
  encrypt: keys,
  usync,
  'w:g2': groups,
  'w:profile:picture': picture,
  status,
  'w:m': media,
  'w:sync:app:state': appState,
  privacy: (_world, _device, { attrs }) =>
    attrs.type === 'get' ? [node('privacy', {}, [node('category', { name: 'readreceipts', value: 'all' })])] : [],
  blocklist: () => [node('list')],
  'w:biz': () => [node('business_profile')],
  'w:p': nothing,
  passive: nothing,
  w: () => [node('props')],
  abt: () => [node('props')],
}
