import { UA } from 'jssip'
import type { RTCSession } from 'jssip/lib/RTCSession'
import type { RTCSessionEvent } from 'jssip/lib/UA'
import type { Credentials } from './credentials.ts'
import { customHeaders, type ReceivedHeaders, writeHeaders } from './headers.ts'
import { KeepaliveSocket } from './keepalive-socket.ts'

/** The events of a SIP connection. */
export type SipConnectionEvents = {
  /** The server has confirmed the registration, also after a reconnect. */
  registered(): void
  /** The registration failed. @param status null if the server did not answer */
  refused(status: number | null, reason: string): void
  /** The connection broke or could not be opened; JsSIP retries. */
  disconnected(): void
  /** The server closed the connection with one of its codes, 4000 to 4999. */
  closedByServer(code: number): void
  /** The registration was removed. @param status null if the server did not answer */
  unregistered(status: number | null): void
  /** A call came in. @param headers headers that begin with `X-`, by name without that prefix */
  incomingCall(session: RTCSession, headers: Record<string, string>): void
  /** A SIP message was sent or received. @param line the first line of the message */
  messageLine(line: string): void
}

/** Reconnect intervals, seconds. Short, as the server waits only 30 s for a connection to come back. */
const reconnectIntervals = { connection_recovery_min_interval: 1, connection_recovery_max_interval: 8 }
/** The longest expiry that the server grants, seconds. */
const expirySeconds = 600

/** SIP over WebSocket with JsSIP: one registration over one connection. */
export class SipConnection {
  private readonly ua: UA
  private readonly domain: string
  private readonly isActive = () => this.isOpen
  private isOpen = true

  constructor({ sip }: Credentials, generation: number, events: SipConnectionEvents) {
    this.domain = sip.uri.slice(sip.uri.indexOf('@') + 1)
    this.ua = new UA({
      ...{ sockets: new KeepaliveSocket(sip.ws_url, events.messageLine), uri: sip.uri, realm: sip.realm },
      ...{ authorization_user: sip.username, password: sip.password },
      // The server supervises the session: it knows whether a broken connection may come back.
      ...{ session_timers: false, register: true, register_expires: expirySeconds },
      ...{ ...reconnectIntervals, user_agent: 'trunkline-voice-sdk' },
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

  /** Sets the credentials of later requests. */
  setCredentials({ sip }: Credentials): void {
    this.ua.set('authorization_user', sip.username)
    this.ua.set('password', sip.password)
  }

  register(): void {
    this.ua.register()
  }

  unregister(): void {
    this.ua.unregister()
  }

  call(to: string, microphone: MediaStream, iceServers: RTCIceServer[], headers: Record<string, string>): RTCSession {
    // Escapes characters that a user part may not contain (RFC 3261, 25.1).
    const user = to.replace(/[^\w.!~*'()&=+$,;?/-]/g, encodeURIComponent)
    const extraHeaders = writeHeaders(headers)
    return this.ua.call(`sip:${user}@${this.domain}`, {
      mediaStream: microphone,
      pcConfig: { iceServers },
      extraHeaders,
    })
  }

  /** Closes the connection and ends its calls. No event follows. */
  stop(): void {
    this.isOpen = false
    this.ua.stop()
  }

  private listen(events: SipConnectionEvents): void {
    const { ua, isActive } = this
    ua.on('registered', () => isActive() && events.registered())
    ua.on('registrationFailed', ({ response, cause }) => {
      // A broken connection has its own event.
      if (!isActive() || (!response && !ua.isConnected())) return
      events.refused(response?.status_code ?? null, response?.reason_phrase ?? String(cause))
    })
    ua.on('unregistered', ({ response, cause }) => {
      if (isActive() && (response || cause)) events.unregistered(response?.status_code ?? null)
    })
    ua.on('disconnected', ({ code = 0 }) => {
      // Deferred until JsSIP has handled the event.
      queueMicrotask(() => {
        if (!isActive()) return
        if (code >= 4_000) events.closedByServer(code)
        else events.disconnected()
      })
    })
    ua.on('newRTCSession', ({ originator, session, request }: RTCSessionEvent) => {
      // The types of JsSIP lack the headers of a request.
      const { headers = {} } = request as { headers?: ReceivedHeaders }
      if (String(originator) === 'remote') events.incomingCall(session, customHeaders(headers))
    })
  }
}
