import type { Socket } from 'jssip'

/** Interval of keep-alives, ms. Laptops sleep and networks change without any event in the browser. */
const keepaliveMs = 15_000
/** A keep-alive and its response (RFC 5626, 4.4.1). */
const [ping, pong] = ['\r\n\r\n', '\r\n']

const nothing = () => {}

/** The WebSocket of JsSIP. Detects within 30 s that the other end is gone. */
export class KeepaliveSocket implements Socket {
  readonly url: string
  readonly sip_uri: string
  via_transport: string
  onconnect: Socket['onconnect'] = nothing
  ondisconnect: Socket['ondisconnect'] = nothing
  ondata: Socket['ondata'] = nothing
  private readonly onMessageLine: (line: string) => void
  private socket: WebSocket | null = null
  private timer: ReturnType<typeof setInterval> | undefined
  private isPongAwaited = false

  /** @param onMessageLine receives the first line of every message, for logging */
  constructor(url: string, onMessageLine: (line: string) => void) {
    const { protocol, host } = new URL(url)
    this.url = url
    this.sip_uri = `sip:${host};transport=ws`
    this.via_transport = protocol === 'wss:' ? 'WSS' : 'WS'
    this.onMessageLine = onMessageLine
  }

  connect(): void {
    this.disconnect()
    const socket = new WebSocket(this.url, 'sip')
    this.socket = socket
    socket.onopen = () => {
      this.startKeepalive()
      this.onconnect()
    }
    socket.onclose = ({ wasClean, code, reason }) => this.dropSocket(!wasClean, code, reason)
    socket.onmessage = ({ data }) => {
      this.isPongAwaited = false
      this.logLine('<', String(data))
      this.ondata(data)
    }
  }

  disconnect(): void {
    clearInterval(this.timer)
    const { socket } = this
    this.socket = null
    if (!socket) return
    socket.onopen = socket.onclose = socket.onmessage = null
    socket.close()
  }

  send(message: Parameters<Socket['send']>[0]): boolean {
    if (!this.socket || !this.isConnected()) return false
    this.logLine('>', String(message))
    this.socket.send(String(message))
    return true
  }

  isConnected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN
  }

  isConnecting(): boolean {
    return this.socket?.readyState === WebSocket.CONNECTING
  }

  private startKeepalive(): void {
    this.isPongAwaited = false
    this.timer = setInterval(() => {
      if (this.isPongAwaited) return this.dropSocket(true, 1006, 'no response')
      this.isPongAwaited = true
      this.socket?.send(ping)
    }, keepaliveMs)
  }

  private dropSocket(isError: boolean, code: number, reason: string): void {
    this.disconnect()
    this.ondisconnect(isError, code, reason)
  }

  private logLine(way: '<' | '>', message: string): void {
    if (message !== ping && message !== pong) this.onMessageLine(`${way} ${message.split('\r\n', 1)[0]}`)
  }
}
