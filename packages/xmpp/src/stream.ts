import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ns } from './namespaces.ts'
import { StreamParseError, StreamParser } from './stream-parser.ts'
import { child, elements, serialize, textOf, type XmlElement, xml } from './xml.ts'
import type { XmppSettings } from './xmpp-settings.ts'

/** Milliseconds that each step of the opening may take. */
const stepMs = 10_000

/** Milliseconds of silence before the server is pinged, and then before the stream is closed. */
const pingAfterMs = 8_000
const closeAfterMs = 4_000

/** Maximum bytes queued for a server that does not read; beyond it the stream is closed. */
const maxQueuedBytes = 1 << 24

export type StreamEvents = {
  stanza(stanza: XmlElement, cut: boolean): void
  /** Nothing was received for a while: the owner should send a ping. */
  idle(): void
  /** @param fatal a retry cannot succeed */
  closed(reason: string, fatal: boolean): void
}

/** Why a stream ended or could not be opened. `fatal`: a retry cannot succeed. */
export class StreamError extends Error {
  readonly fatal: boolean
  constructor(reason: string, fatal: boolean) {
    super(reason)
    this.fatal = fatal
  }
}

export const streamErrorOf = (error: unknown): StreamError =>
  error instanceof StreamError ? error : new StreamError(error instanceof Error ? error.message : String(error), false)

type PendingStep = { resolve(element: XmlElement): void; reject(error: Error): void }

/** Condition of a stream error, SASL failure or stanza error, with the server's text. */
export const conditionOf = (element: XmlElement): string => {
  const [first] = elements(element).filter(({ name }) => name !== 'text')
  const words = elements(element, 'text').map(textOf).join(' ').trim()
  return words ? `${first?.name ?? 'error'}: ${words.slice(0, 300)}` : (first?.name ?? 'error')
}

const tlsOptions = ({ tls_ca: ca, tls_server_name: name, domain }: XmppSettings) => {
  const servername = name ?? domain
  return { ...(ca && { ca }), ...(!isIP(servername) && { servername }) }
}

/** A socket with an XML stream in each direction (RFC 6120, 4). */
export class Stream {
  private socket: Socket
  private readonly settings: XmppSettings
  private readonly namespace: string
  private readonly to: string
  private readonly events: StreamEvents
  private parser: StreamParser
  /** Consumers of elements while the stream is being opened. */
  private steps: PendingStep[] | null = []
  private readonly buffered: XmlElement[] = []
  private header: ((attrs: Readonly<Record<string, string>>) => void) | null = null
  private reason: string | null = null
  private isFatal = false
  private isClosed = false
  private readonly idleTimer: NodeJS.Timeout
  private responseTimer: NodeJS.Timeout | null = null

  constructor(settings: XmppSettings, namespace: string, to: string, events: StreamEvents) {
    this.settings = settings
    this.namespace = namespace
    this.to = to
    this.events = events
    this.parser = this.makeParser()
    this.idleTimer = setTimeout(() => this.checkLiveness(), pingAfterMs)
    const { host, port, encryption } = settings
    this.socket =
      encryption === 'direct'
        ? connectTls({ host, port, ...tlsOptions(settings) })
        : connectTcp({ host, port, noDelay: true })
    this.watch(this.socket)
  }

  get isEncrypted(): boolean {
    return 'encrypted' in this.socket
  }

  /** Pauses or resumes reading. */
  set isPaused(paused: boolean) {
    if (paused) this.socket.pause()
    else this.socket.resume()
  }

  /** Connects and opens the stream. @returns the attributes of the server's header. @throws StreamError */
  async open(): Promise<Readonly<Record<string, string>>> {
    await this.connected()
    return this.restart()
  }

  /** Starts a new stream over the same socket, after TLS and after login (RFC 6120, 4.3.3). */
  restart(): Promise<Readonly<Record<string, string>>> {
    this.parser = this.makeParser()
    const { promise, resolve } = Promise.withResolvers<Readonly<Record<string, string>>>()
    this.header = resolve
    const language = this.namespace === 'jabber:client' ? " version='1.0'" : ''
    this.write(
      `<?xml version='1.0'?><stream:stream xmlns='${this.namespace}' xmlns:stream='${ns.streams}' to='${this.to}'${language}>`,
    )
    return this.withTimeout(promise)
  }

  /** The next element while the stream is being opened. @throws StreamError */
  next(): Promise<XmlElement> {
    const ready = this.buffered.shift()
    if (ready) return Promise.resolve(ready)
    const { promise, resolve, reject } = Promise.withResolvers<XmlElement>()
    if (this.isClosed || !this.steps) reject(new StreamError(this.reason ?? 'closed', false))
    else this.steps.push({ resolve, reject })
    return this.withTimeout(promise)
  }

  /** Ends the opening: elements are now emitted as events. */
  begin(): void {
    this.steps = null
    for (const element of this.buffered.splice(0)) this.events.stanza(element, false)
  }

  /** Upgrades the socket to TLS and verifies the certificate (RFC 6120, 5). @throws StreamError */
  async encrypt(): Promise<void> {
    const plain = this.socket
    plain.removeAllListeners('data')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const secured: TLSSocket = connectTls({ socket: plain, ...tlsOptions(this.settings) }, resolve)
    secured.once('error', reject)
    this.socket = secured
    this.watch(secured)
    await this.withTimeout(promise)
  }

  send(element: XmlElement): void {
    this.write(serialize(element))
  }

  /** Closes the stream and its socket gracefully. */
  close(): void {
    if (this.isClosed) return
    this.write('</stream:stream>')
    this.reason ??= 'closed'
    this.socket.end()
    setTimeout(() => this.socket.destroy(), 500).unref()
  }

  destroy(reason: string): void {
    this.reason ??= reason
    this.socket.destroy()
    this.handleEnd()
  }

  private async connected(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.socket.once(this.settings.encryption === 'direct' ? 'secureConnect' : 'connect', () => resolve())
    await this.withTimeout(promise)
  }

  /** Fails when the stream ends first or on timeout. */
  private async withTimeout<T>(promise: Promise<T>): Promise<T> {
    const ended = Promise.withResolvers<never>()
    const step: PendingStep = { resolve: () => {}, reject: ended.reject }
    this.endWaiters.add(step)
    const timer = setTimeout(() => this.destroy('no answer in time'), stepMs)
    if (this.isClosed) step.reject(new StreamError(this.reason ?? 'closed', false))
    try {
      return await Promise.race([promise, ended.promise])
    } catch (error) {
      throw streamErrorOf(error)
    } finally {
      clearTimeout(timer)
      this.endWaiters.delete(step)
    }
  }

  private readonly endWaiters = new Set<PendingStep>()

  private watch(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.handleData(bytes))
    socket.on('error', (error: Error) => {
      this.reason ??= error.message || 'the socket broke'
    })
    socket.on('close', () => {
      if (socket === this.socket) this.handleEnd()
    })
  }

  private handleData(bytes: Buffer): void {
    this.idleTimer.refresh()
    if (this.responseTimer) clearTimeout(this.responseTimer)
    this.responseTimer = null
    try {
      this.parser.write(bytes)
    } catch (error) {
      if (!(error instanceof StreamParseError)) throw error
      this.destroy(`the server sent ${error.message}`)
    }
  }

  private makeParser(): StreamParser {
    return new StreamParser({
      opened: (attrs) => this.header?.(attrs),
      stanza: (stanza, cut) => this.dispatch(stanza, cut),
      closed: () => this.destroy('the server closed the stream'),
    })
  }

  private dispatch(element: XmlElement, cut: boolean): void {
    if (element.name === 'error' && element.ns === ns.streams) {
      const isConflict = child(element, 'conflict', ns.streamErrors) !== undefined
      this.isFatal = child(element, 'not-authorized', ns.streamErrors) !== undefined
      this.destroy(isConflict ? 'another session took over the login' : conditionOf(element))
    } else if (!this.steps) this.events.stanza(element, cut)
    else {
      const step = this.steps.shift()
      if (step) step.resolve(element)
      else if (this.buffered.length < 100) this.buffered.push(element)
    }
  }

  private checkLiveness(): void {
    if (this.isClosed) return
    this.responseTimer = setTimeout(() => this.destroy('the server stopped responding'), closeAfterMs)
    if (!this.steps) this.events.idle()
  }

  private write(text: string): void {
    if (this.isClosed) return
    this.socket.write(text)
    if (this.socket.writableLength > maxQueuedBytes) this.destroy('the server does not read')
  }

  private handleEnd(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.idleTimer)
    if (this.responseTimer) clearTimeout(this.responseTimer)
    const reason = this.reason ?? 'the server closed the connection'
    const refused = new StreamError(reason, this.isFatal)
    for (const { reject } of [...(this.steps ?? []), ...this.endWaiters]) reject(refused)
    this.events.closed(reason, this.isFatal)
  }
}

/** Builds an error response to a stanza (RFC 6120, 8.3). */
export const errorResponse = (stanza: XmlElement, type: 'cancel' | 'wait' | 'modify', condition: string): XmlElement =>
  xml(
    stanza.name,
    '',
    { type: 'error', id: stanza.attrs.id, to: stanza.attrs.from, from: stanza.attrs.to },
    xml('error', '', { type }, xml(condition, ns.stanzaErrors)),
  )
