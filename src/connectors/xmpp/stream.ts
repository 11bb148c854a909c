import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ns } from './codec/names.ts'
import { Reader, StreamFault } from './codec/reader.ts'
import { child, elements, print, textOf, type Xml, xml } from './codec/xml.ts'
import type { XmppSettings } from './settings.ts'

/** How long each step of the opening may take. */
const stepMs = 10_000

/** Silence after which the server is asked whether it lives, and after which it is left. */
const quietMs = 8_000
const muteMs = 4_000

/** Bytes that may wait for a server that does not read: then it is left. */
const mostWaiting = 1 << 24

export type StreamEvents = {
  stanza(stanza: Xml, cut: boolean): void
  /** Nothing has come for a while: something should be asked. */
  quiet(): void
  /** @param fatal trying again changes nothing */
  closed(reason: string, fatal: boolean): void
}

/** Why a stream ended or could not be had. `fatal`: trying again changes nothing. */
export class Refused extends Error {
  readonly fatal: boolean
  constructor(reason: string, fatal: boolean) {
    super(reason)
    this.fatal = fatal
  }
}

export const refusedOf = (error: unknown): Refused =>
  error instanceof Refused ? error : new Refused(error instanceof Error ? error.message : String(error), false)

type Step = { resolve(element: Xml): void; reject(error: Error): void }

/** The condition of a stream error, SASL failure or stanza error, and what the server says of it. */
export const conditionOf = (element: Xml): string => {
  const [first] = elements(element).filter(({ name }) => name !== 'text')
  const words = elements(element, 'text').map(textOf).join(' ').trim()
  return words ? `${first?.name ?? 'error'}: ${words.slice(0, 300)}` : (first?.name ?? 'error')
}

const tlsOptions = ({ tls_ca: ca, tls_server_name: name, domain }: XmppSettings) => {
  const servername = name ?? domain
  return { ...(ca && { ca }), ...(!isIP(servername) && { servername }) }
}

/** One socket with an XML stream in each direction (RFC 6120, 4). */
export class Stream {
  private socket: Socket
  private readonly settings: XmppSettings
  private readonly namespace: string
  private readonly to: string
  private readonly events: StreamEvents
  private reader: Reader
  /** While the stream is being opened, elements go to who waits for them. */
  private steps: Step[] | null = []
  private readonly early: Xml[] = []
  private header: ((attrs: Readonly<Record<string, string>>) => void) | null = null
  private reason: string | null = null
  private isFatal = false
  private isClosed = false
  private readonly quiet: NodeJS.Timeout
  private mute: NodeJS.Timeout | null = null

  constructor(settings: XmppSettings, namespace: string, to: string, events: StreamEvents) {
    this.settings = settings
    this.namespace = namespace
    this.to = to
    this.events = events
    this.reader = this.makeReader()
    this.quiet = setTimeout(() => this.ask(), quietMs)
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

  /** Everything that was received is done with: reading goes on, or waits. */
  set isPaused(paused: boolean) {
    if (paused) this.socket.pause()
    else this.socket.resume()
  }

  /** Connects and says hello. @returns the attributes of the server's header. @throws Refused */
  async open(): Promise<Readonly<Record<string, string>>> {
    await this.connected()
    return this.restart()
  }

  /** A new stream over the same socket: after TLS and after the login (RFC 6120, 4.3.3). */
  restart(): Promise<Readonly<Record<string, string>>> {
    this.reader = this.makeReader()
    const { promise, resolve } = Promise.withResolvers<Readonly<Record<string, string>>>()
    this.header = resolve
    const language = this.namespace === 'jabber:client' ? " version='1.0'" : ''
    this.write(
      `<?xml version='1.0'?><stream:stream xmlns='${this.namespace}' xmlns:stream='${ns.streams}' to='${this.to}'${language}>`,
    )
    return this.inTime(promise)
  }

  /** The next element while the stream is being opened. @throws Refused */
  next(): Promise<Xml> {
    const ready = this.early.shift()
    if (ready) return Promise.resolve(ready)
    const { promise, resolve, reject } = Promise.withResolvers<Xml>()
    if (this.isClosed || !this.steps) reject(new Refused(this.reason ?? 'closed', false))
    else this.steps.push({ resolve, reject })
    return this.inTime(promise)
  }

  /** From now on elements are told as they come. */
  begin(): void {
    this.steps = null
    for (const element of this.early.splice(0)) this.events.stanza(element, false)
  }

  /** Turns the socket into one of TLS, the certificate verified (RFC 6120, 5). @throws Refused */
  async encrypt(): Promise<void> {
    const plain = this.socket
    plain.removeAllListeners('data')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const secured: TLSSocket = connectTls({ socket: plain, ...tlsOptions(this.settings) }, resolve)
    secured.once('error', reject)
    this.socket = secured
    this.watch(secured)
    await this.inTime(promise)
  }

  send(element: Xml): void {
    this.write(print(element))
  }

  /** Ends the stream in order; the socket goes with it. */
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
    this.over()
  }

  private async connected(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.socket.once(this.settings.encryption === 'direct' ? 'secureConnect' : 'connect', () => resolve())
    await this.inTime(promise)
  }

  /** Fails when the stream ends first, or after a while. */
  private async inTime<T>(promise: Promise<T>): Promise<T> {
    const ended = Promise.withResolvers<never>()
    const step: Step = { resolve: () => {}, reject: ended.reject }
    this.ends.add(step)
    const timer = setTimeout(() => this.destroy('no answer in time'), stepMs)
    if (this.isClosed) step.reject(new Refused(this.reason ?? 'closed', false))
    try {
      return await Promise.race([promise, ended.promise])
    } catch (error) {
      throw refusedOf(error)
    } finally {
      clearTimeout(timer)
      this.ends.delete(step)
    }
  }

  private readonly ends = new Set<Step>()

  private watch(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.take(bytes))
    socket.on('error', (error: Error) => {
      this.reason ??= error.message || 'the socket broke'
    })
    socket.on('close', () => {
      if (socket === this.socket) this.over()
    })
  }

  private take(bytes: Buffer): void {
    this.quiet.refresh()
    if (this.mute) clearTimeout(this.mute)
    this.mute = null
    try {
      this.reader.write(bytes)
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error
      this.destroy(`the server sent ${error.message}`)
    }
  }

  private makeReader(): Reader {
    return new Reader({
      opened: (attrs) => this.header?.(attrs),
      stanza: (stanza, cut) => this.dispatch(stanza, cut),
      closed: () => this.destroy('the server closed the stream'),
    })
  }

  private dispatch(element: Xml, cut: boolean): void {
    if (element.name === 'error' && element.ns === ns.streams) {
      const isConflict = child(element, 'conflict', ns.streamErrors) !== undefined
      this.isFatal = child(element, 'not-authorized', ns.streamErrors) !== undefined
      this.destroy(isConflict ? 'somebody else took over the login' : conditionOf(element))
    } else if (!this.steps) this.events.stanza(element, cut)
    else {
      const step = this.steps.shift()
      if (step) step.resolve(element)
      else if (this.early.length < 100) this.early.push(element)
    }
  }

  private ask(): void {
    if (this.isClosed) return
    this.mute = setTimeout(() => this.destroy('the server is mute'), muteMs)
    if (!this.steps) this.events.quiet()
  }

  private write(text: string): void {
    if (this.isClosed) return
    this.socket.write(text)
    if (this.socket.writableLength > mostWaiting) this.destroy('the server does not read')
  }

  private over(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.quiet)
    if (this.mute) clearTimeout(this.mute)
    const reason = this.reason ?? 'the server closed the connection'
    const refused = new Refused(reason, this.isFatal)
    for (const { reject } of [...(this.steps ?? []), ...this.ends]) reject(refused)
    this.events.closed(reason, this.isFatal)
  }
}

/** An error stanza in answer to one (RFC 6120, 8.3). */
export const refusal = (stanza: Xml, type: 'cancel' | 'wait' | 'modify', condition: string): Xml =>
  xml(
    stanza.name,
    '',
    { type: 'error', id: stanza.attrs.id, to: stanza.attrs.from, from: stanza.attrs.to },
    xml('error', '', { type }, xml(condition, ns.stanzaErrors)),
  )
