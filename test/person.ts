import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Life, type Prosody, password, until } from './prosody.ts'

// Somebody with an application of their own: a plain XMPP client over a raw socket, which shares nothing with the connector.

/** An element, as far as a test looks at it. */
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

/** Takes whole stanzas off the beginning of the text. @returns them, and what is left */
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

/** The first element of this tag inside, at any depth; with the attribute, where told. */
export const find = (node: Node | undefined, tag: string, has: Record<string, string> = {}): Node | undefined => {
  for (const child of node?.children ?? []) {
    if (child.tag === tag && Object.entries(has).every(([key, value]) => child.attrs[key] === value)) return child
    const inner = find(child, tag, has)
    if (inner) return inner
  }
  return undefined
}

export type Person = {
  readonly jid: string
  /** Everything that came, in its order. */
  readonly got: Node[]
  /** Messages with a body. */
  texts(): string[]
  write(xml: string): void
  /** The first stanza that fits, once it is there. */
  wait(what: string, fits: (node: Node) => boolean): Promise<Node>
  ask(type: 'get' | 'set', to: string | null, inner: string): Promise<Node>
  say(to: string, body: string, id: string, more?: string): void
  leave(): Promise<void>
}

/** Logs in as one of the server's accounts. */
export const person = async (
  t: Life,
  { port }: Prosody,
  user: string,
  { resource = 'phone', presence = '<presence/>', as = password, heard = (_: Node): void => {} } = {},
): Promise<Person> => {
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
  const self: Person = {
    jid,
    got,
    texts: () => got.flatMap((node) => (node.tag === 'message' && find(node, 'body')?.text) || []),
    write: (xml) => void socket.write(xml),
    wait,
    ask: (type, to, inner) => {
      const id = `ask-${++count}`
      socket.write(`<iq type='${type}' id='${id}'${to ? ` to='${to}'` : ''}>${inner}</iq>`)
      return wait(`answer to ${inner.slice(0, 60)}`, (node) => node.tag === 'iq' && node.attrs.id === id)
    },
    say: (to, body, id, more = '') =>
      void socket.write(`<message type='chat' to='${to}' id='${id}'><body>${body}</body>${more}</message>`),
    leave: async () => {
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
  await self.ask('set', null, `<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>${resource}</resource></bind>`)
  self.write(presence)
  return self
}
