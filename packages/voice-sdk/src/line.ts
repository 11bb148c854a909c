import { UA } from 'jssip'
import type { RTCSession } from 'jssip/lib/RTCSession'
import type { RTCSessionEvent } from 'jssip/lib/UA'
import type { Credentials } from './credentials.ts'
import { customHeaders, type Received, writeHeaders } from './headers.ts'
import { Wire } from './wire.ts'

/** What happens to a line. */
export type LineEvents = {
  /** The server has us, for the first time or again after the connection was broken. */
  registered(): void
  /** @param status null when the server did not answer */
  refused(status: number | null, reason: string): void
  /** The connection broke, or never came about; JsSIP tries again. */
  broken(): void
  /** The server closed it, by a code of its own: 4000 to 4999. */
  dismissed(code: number): void
  /** @param status null when the server did not answer */
  withdrawn(status: number | null): void
  /** @param headers those that began with `X-`, without it */
  invited(session: RTCSession, headers: Record<string, string>): void
  /** The first line of a message, as it leaves or comes. */
  said(line: string): void
}

/** A server waits 30 s for a connection to come back: it is tried often. Seconds. */
const recovery = { connection_recovery_min_interval: 1, connection_recovery_max_interval: 8 }
/** The most that a server grants. Seconds. */
const registerSeconds = 600

/** SIP over WebSocket, by JsSIP: one registration over one connection. */
export class Line {
  private readonly ua: UA
  private readonly domain: string
  private readonly isOwn = () => this.isOpen
  private isOpen = true

  constructor({ sip }: Credentials, generation: number, events: LineEvents) {
    this.domain = sip.uri.slice(sip.uri.indexOf('@') + 1)
    this.ua = new UA({
      ...{ sockets: new Wire(sip.ws_url, events.said), uri: sip.uri, realm: sip.realm },
      ...{ authorization_user: sip.username, password: sip.password },
      // Whether a session lives is the server's to watch: it knows of a connection that will come back.
      ...{ session_timers: false, register: true, register_expires: registerSeconds },
      ...{ ...recovery, user_agent: 'trunkline-voice-sdk' },
    })
    this.ua.registrator().setExtraHeaders([`X-Device-Gen: ${generation}`])
    this.listen(events)
  }

  get isConnected(): boolean {
    return this.ua.isConnected()
  }

  start(): void {
    this.ua.start()
  }

  /** New credentials for whatever is sent from now on. */
  set({ sip }: Credentials): void {
    this.ua.set('authorization_user', sip.username)
    this.ua.set('password', sip.password)
  }

  register(): void {
    this.ua.register()
  }

  withdraw(): void {
    this.ua.unregister()
  }

  call(to: string, microphone: MediaStream, iceServers: RTCIceServer[], headers: Record<string, string>): RTCSession {
    // What may not stand in a user part as it is (RFC 3261, 25.1).
    const user = to.replace(/[^\w.!~*'()&=+$,;?/-]/g, encodeURIComponent)
    const extraHeaders = writeHeaders(headers)
    return this.ua.call(`sip:${user}@${this.domain}`, {
      mediaStream: microphone,
      pcConfig: { iceServers },
      extraHeaders,
    })
  }

  /** Ends its calls too. Nothing is told of it any more. */
  stop(): void {
    this.isOpen = false
    this.ua.stop()
  }

  private listen(events: LineEvents): void {
    const { ua, isOwn } = this
    ua.on('registered', () => isOwn() && events.registered())
    ua.on('registrationFailed', ({ response, cause }) => {
      // A broken connection is told by itself.
      if (!isOwn() || (!response && !ua.isConnected())) return
      events.refused(response?.status_code ?? null, response?.reason_phrase ?? String(cause))
    })
    ua.on('unregistered', ({ response, cause }) => {
      if (isOwn() && (response || cause)) events.withdrawn(response?.status_code ?? null)
    })
    ua.on('disconnected', ({ code = 0 }) => {
      // After JsSIP has done with it.
      queueMicrotask(() => {
        if (!isOwn()) return
        if (code >= 4_000) events.dismissed(code)
        else events.broken()
      })
    })
    ua.on('newRTCSession', ({ originator, session, request }: RTCSessionEvent) => {
      // Its headers are not among JsSIP's types.
      const { headers = {} } = request as { headers?: Received }
      if (String(originator) === 'remote') events.invited(session, customHeaders(headers))
    })
  }
}
