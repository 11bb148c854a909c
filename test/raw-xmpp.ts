import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { certificate } from './certificate.ts'
import type { Lifetime } from './prosody.ts'

// An XMPP server over direct TLS that sends any bytes and resumes streams (XEP-0198): for stanzas that Prosody refuses
// to relay.

export type RawServer = {
  readonly port: number
  /** PEM of the self-signed certificate. */
  readonly ca: string
  /** Stanzas of the server that its client acknowledged. */
  acknowledged(): number
  /** The number of connections of the client, and of resumed streams. */
  readonly logins: { fresh: number; resumed: number }
  /** Everything that the client wrote. */
  received(): string
  /**
   * Sends a stanza and requests its acknowledgement. The server repeats it on each resumed stream until acknowledged.
   */
  send(stanza: string): void
}

const pattern =
  /<stream:stream[^>]*>|<auth\b[^>]*>[^<]*<\/auth>|<(iq|message|presence)\b(?:[^>]*\/>|[\s\S]*?<\/\1>)|<(?:enable|resume|r|a)\b[^>]*\/>/g

const management = "xmlns='urn:xmpp:sm:3'"
const offer = "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism></mechanisms>"
const bind = "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'"

export const openRawServer = async (t: Lifetime, user: string): Promise<RawServer> => {
  const { cert, key } = certificate('DNS:localhost')
  const logins = { fresh: 0, resumed: 0 }
  const sent: string[] = []
  let [acknowledged, came, all] = [0, 0, '']
  let current: TLSSocket | null = null

  const answer = (socket: TLSSocket, element: string, isKnown: boolean): void => {
    const attribute = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(element)?.[1] ?? ''
    if (element.startsWith('<stream')) {
      const features = isKnown ? `${bind}/><sm ${management}/>` : offer
      socket.write(
        `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1' from='localhost' version='1.0'><stream:features>${features}</stream:features>`,
      )
    } else if (element.startsWith('<auth')) socket.write("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
    else if (element.startsWith('<enable')) {
      logins.fresh++
      ;[acknowledged, came] = [0, 0]
      sent.length = 0
      current = socket
      socket.write(`<enabled ${management} id='s' resume='true'/>`)
    } else if (element.startsWith('<resume')) {
      logins.resumed++
      acknowledged = Number(attribute('h'))
      current = socket
      socket.write(`<resumed ${management} previd='s' h='${came}'/>${sent.slice(acknowledged).join('')}`)
      socket.write(`<r ${management}/>`)
    } else if (element.startsWith('<r ')) socket.write(`<a ${management} h='${came}'/>`)
    else if (element.startsWith('<a ')) acknowledged = Number(attribute('h'))
    else if (attribute('id') === 'bind') {
      socket.write(`<iq type='result' id='bind'>${bind}><jid>${user}@localhost/trunkline</jid></bind></iq>`)
    } else {
      came++
      if (!element.startsWith('<iq')) return
      const end = element.includes('urn:xmpp:mam:2') ? "<fin xmlns='urn:xmpp:mam:2' complete='true'/>" : ''
      sent.push(
        `<iq type='result' id='${attribute('id')}' from='${attribute('to') || `${user}@localhost`}'>${end}</iq>`,
      )
      socket.write(sent.at(-1) ?? '')
    }
  }

  const server = createServer({ cert, key }, (socket) => {
    let [rest, isKnown] = ['', false]
    socket.on('error', () => {})
    socket.on('close', () => {
      if (current === socket) current = null
    })
    socket.setEncoding('utf8').on('data', (text: string) => {
      all += text
      rest += text
      let taken = 0
      for (const match of rest.matchAll(pattern)) {
        answer(socket, match[0], isKnown)
        isKnown ||= match[0].startsWith('<auth')
        taken = match.index + match[0].length
      }
      rest = rest.slice(taken)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    current?.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port, // a TCP server
    ca: cert,
    acknowledged: () => acknowledged,
    logins,
    received: () => all,
    send: (stanza) => {
      sent.push(stanza)
      current?.write(`${stanza}<r ${management}/>`)
    },
  }
}
