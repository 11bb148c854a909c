import { createHash } from 'node:crypto'
import type { NetworkPerson, SeenMessage } from '../src/domains/msgapp/networks/chat.conformance.ts'
import type { Lifetime, Prosody } from './prosody.ts'
import { find, type Node, openXmppClient } from './xmpp-client.ts'

// A contact on an XMPP server with a typical application: it sends receipts, joins groups when invited, shows a message
// id once, and removes retracted messages.

const chat = 'http://jabber.org/protocol/muc'

const isOf = (node: Node, tag: string): boolean => node.children.some((child) => child.tag === tag)

const digestOf = async (url: string): Promise<string> => {
  const body = Buffer.from(await (await fetch(url)).arrayBuffer())
  return createHash('sha256').update(body).digest('hex')
}

type ContactAddresses = {
  readonly number: string
  /** The channel’s address. */
  readonly me: string
  /** A group’s address. */
  readonly roomOf: (group: string) => Promise<string>
}

export const openContact = async (
  life: Lifetime,
  server: Prosody,
  { number, me, roomOf }: ContactAddresses,
): Promise<NetworkPerson> => {
  const user = number.slice(1)
  const name = `Friend ${user.slice(-2)}`
  let writes = 0
  const self = await openXmppClient(life, server, user, {
    heard: (node) => {
      const { from = '', id } = node.attrs
      if (node.tag !== 'message' || node.attrs.type === 'error') return
      if (isOf(node, 'request'))
        self.write(`<message to='${me}'><received xmlns='urn:xmpp:receipts' id='${id}'/></message>`)
      if (find(node, 'invite')) self.write(`<presence to='${from}/${user}'><x xmlns='${chat}'/></presence>`)
    },
  })
  const card = `<vcard xmlns='urn:ietf:params:xml:ns:vcard-4.0'><fn><text>${name}</text></fn></vcard>`
  const open =
    "<publish-options><x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'>" +
    '<value>http://jabber.org/protocol/pubsub#publish-options</value></field>' +
    "<field var='pubsub#access_model'><value>open</value></field></x></publish-options>"
  const item = `<publish node='urn:xmpp:vcard4'><item id='current'>${card}</item></publish>`
  await self.request('set', null, `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${item}${open}</pubsub>`)

  const digests = new Map<string, string>()
  const told = (node: Node) => node.tag === 'message' && node.attrs.type !== 'error' && isOf(node, 'body')
  const retracted = () => self.stanzas.flatMap((node) => find(node, 'retract')?.attrs.id ?? [])

  const seen = async (): Promise<SeenMessage[]> => {
    const once = new Map<string, Node>()
    for (const node of self.stanzas) {
      const isOurs = node.attrs.type === 'groupchat' && node.attrs.from?.endsWith(`/${user}`)
      if (told(node) && !isOurs && !isOf(node, 'retract')) once.set(`${node.attrs.from} ${node.attrs.id}`, node)
    }
    const gone = retracted()
    const items: SeenMessage[] = []
    for (const node of once.values()) {
      const url = find(find(node, 'x', { xmlns: 'jabber:x:oob' }), 'url')?.text
      if (url && !digests.has(url)) digests.set(url, await digestOf(url))
      const place = find(node, 'geoloc')
      const [latitude, longitude] = ['lat', 'lon'].map((tag) => Number(find(place, tag)?.text))
      items.push({
        text: find(node, 'body')?.text ?? '',
        digest: url && digests.get(url),
        pin: place && { latitude: latitude ?? 0, longitude: longitude ?? 0 },
        removed: gone.includes(node.attrs.id ?? ''),
      })
    }
    return items
  }

  const itemsOf = (node: string) =>
    self.request('get', me, `<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='${node}'/></pubsub>`)

  return {
    number,
    name,
    seen,
    write: async ({ text, url, group }) => {
      const id = `w${++writes}`
      const to = group === undefined ? me : await roomOf(group)
      if (group !== undefined)
        await self.wait('the group', ({ tag, attrs }) => tag === 'presence' && attrs.from === `${to}/${user}`)
      const shared = url ? `<x xmlns='jabber:x:oob'><url>${url}</url></x>` : ''
      const type = group === undefined ? 'chat' : 'groupchat'
      const marked = "<markable xmlns='urn:xmpp:chat-markers:0'/>"
      self.write(
        `<message type='${type}' to='${to}' id='${id}'><body>${text ?? url}</body>${shared}${marked}</message>`,
      )
    },
    gotReadReceipt: async () => self.stanzas.some((node) => find(node, 'displayed')?.attrs.id === `w${writes}`),
    read: async () => {
      for (const node of self.stanzas)
        if (told(node) && isOf(node, 'markable'))
          self.write(`<message to='${me}'><displayed xmlns='urn:xmpp:chat-markers:0' id='${node.attrs.id}'/></message>`)
    },
    call: async () => {
      const offer = "<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/>"
      const propose = `<propose xmlns='urn:xmpp:jingle-message:0' id='k1'>${offer}</propose>`
      for (const _ of [1, 2]) self.write(`<message type='chat' to='${me}'>${propose}</message>`)
      self.write(`<message type='chat' to='${me}'><retract xmlns='urn:xmpp:jingle-message:0' id='k1'/></message>`)
    },
    picture: async () => {
      const data = find(await itemsOf('urn:xmpp:avatar:data'), 'data')?.text
      return data ? createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex') : null
    },
    status: async () => {
      self.write(`<presence type='subscribe' to='${me}'/>`)
      const shown = self.stanzas.findLast(
        ({ tag, attrs }) => tag === 'presence' && attrs.from?.startsWith(me) && !attrs.type,
      )
      return find(shown, 'status')?.text ?? null
    },
  }
}
