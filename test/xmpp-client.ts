import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Lifetime, type Prosody, password, until } from './prosody.ts'

// A contact with an application of their own: a plain XMPP client over a raw socket that shares no code with the
// connector.

/** An element, with the parts that tests check. */
export type Node = { tag: string; attrs: Record<string, string>; children: Node[]; text: string }

const plain = (text: string): string =>
  text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&apos;/g, "'")
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&amp;/g, '&')

const attributes = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([\w:.-]+)=(?:'([^']*)'|"([^"]*)")/g)].map(([, k, a, b]) => [k, plain(a ?? b ?? '')]),
  )

/** Takes whole stanzas off the beginning of the text. @returns the stanzas and the remaining text */
const split = (text: string): { stanzas: Node[]; rest: string } => {
  const stanzas: Node[] = []
  const path: Node[] = []
  const token = /<(\/?)([\w:.-]+)((?:\s+[\w:.-]+=(?:'[^']*'|"[^"]*"))*)\s*(\/?)>|<\?[^>]*\?>|([^<]+)/g
  let taken = 0
  for (const match of text.matchAll(token)) {
    const [whole, isEnd, tag, attrs = '', isEmpty, words] = match
    const after = (match.index ?? 0) + whole.length
    if (words !== undefined) {
      const inner = path.at(-1)
      if (inner) inner.text += plain(words)
      else taken = after
      continue
    }
    if (tag === undefined || tag === 'stream:stream') {
      taken = after
      continue
    }
    if (!isEnd) {
      const node: Node = { tag, attrs: attributes(attrs), children: [], text: '' }
      path.at(-1)?.children.push(node)
      path.push(node)
    }
    if (!isEnd && !isEmpty) continue
    const ended = path.pop()
    if (ended && path.length === 0) {
      stanzas.push(ended)
      taken = after
    }
  }
  return { stanzas, rest: text.slice(taken) }
}

/** The first descendant element of this tag, optionally with these attributes. */
export const find = (node: Node | undefined, tag: string, has: Record<string, string> = {}): Node | undefined => {
  for (const child of node?.children ?? []) {
    if (child.tag === tag && Object.entries(has).every(([key, value]) => child.attrs[key] === value)) return child
    const inner = find(child, tag, has)
    if (inner) return inner
  }
  return undefined
}

export type XmppClient = {
  readonly jid: string
  /** Every received stanza, in order. */
  readonly stanzas: Node[]
  /** Messages with a body. */
  texts(): string[]
  write(xml: string): void
  /** The first stanza that matches, once it has arrived. */
  wait(what: string, fits: (node: Node) => boolean): Promise<Node>
  request(type: 'get' | 'set', to: string | null, inner: string): Promise<Node>
  sendChat(to: string, body: string, id: string, more?: string): void
  logOut(): Promise<void>
}

/** Logs in as one of the server's accounts. */
export const openXmppClient = async (
  t: Lifetime,
  { port }: Prosody,
  user: string,
  { resource = 'phone', presence = '<presence/>', as = password, heard = (_: Node): void => {} } = {},
): Promise<XmppClient> => {
  const socket: Socket = connect(port, '127.0.0.1')
  const got: Node[] = []
  let rest = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const { stanzas, rest: left } = split(rest + chunk)
    rest = left
    got.push(...stanzas)
    for (const one of stanzas) heard(one)
  })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  const header =
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='localhost' version='1.0'>"
  const jid = `${user}@localhost`
  let count = 0
  const wait = async (what: string, fits: (node: Node) => boolean): Promise<Node> => {
    await until(`${user}: ${what}`, () => got.some(fits))
    const found = got.find(fits)
    assert.ok(found)
    return found
  }
  const self: XmppClient = {
    jid,
    stanzas: got,
    texts: () => got.flatMap((node) => (node.tag === 'message' && find(node, 'body')?.text) || []),
    write: (xml) => void socket.write(xml),
    wait,
    request: (type, to, inner) => {
      const id = `ask-${++count}`
      socket.write(`<iq type='${type}' id='${id}'${to ? ` to='${to}'` : ''}>${inner}</iq>`)
      return wait(`answer to ${inner.slice(0, 60)}`, (node) => node.tag === 'iq' && node.attrs.id === id)
    },
    sendChat: (to, body, id, more = '') =>
      void socket.write(`<message type='chat' to='${to}' id='${id}'><body>${body}</body>${more}</message>`),
    logOut: async () => {
      socket.end('</stream:stream>')
      await once(socket, 'close')
    },
  }
  socket.write(header)
  await wait('features', ({ tag }) => tag === 'stream:features')
  const credentials = Buffer.from(`\0${user}\0${as}`).toString('base64')
  socket.write(`<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>${credentials}</auth>`)
  await wait('login', ({ tag }) => tag === 'success')
  got.length = 0
  socket.write(header)
  await wait('features again', ({ tag }) => tag === 'stream:features')
  await self.request(
    'set',
    null,
    `<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>${resource}</resource></bind>`,
  )
  self.write(presence)
  return self
}
