import type { Socket } from 'jssip'

/** How often the server is asked whether it is there, ms. Laptops sleep and networks change without a word to the browser. */
const askMs = 15_000
/** A keep-alive and its answer (RFC 5626, 4.4.1). */
const [ping, pong] = ['\r\n\r\n', '\r\n']

const nothing = () => {}

/** The WebSocket under JsSIP, which notices when nobody is at the other end: within half a minute. */
export class Wire implements Socket {
  readonly url: string
  readonly sip_uri: string
  via_transport: string
  onconnect: Socket['onconnect'] = nothing
  ondisconnect: Socket['ondisconnect'] = nothing
  ondata: Socket['ondata'] = nothing
  private readonly tell: (line: string) => void
  private socket: WebSocket | null = null
  private timer: ReturnType<typeof setInterval> | undefined
  private isAwaited = false

  /** @param tell the first line of every message, for who wants to see it */
  constructor(url: string, tell: (line: string) => void) {
    const { protocol, host } = new URL(url)
    this.url = url
    this.sip_uri = `sip:${host};transport=ws`
    this.via_transport = protocol === 'wss:' ? 'WSS' : 'WS'
    this.tell = tell
  }

  connect(): void {
    this.disconnect()
    const socket = new WebSocket(this.url, 'sip')
    this.socket = socket
    socket.onopen = () => {
      this.watch()
      this.onconnect()
    }
    socket.onclose = ({ wasClean, code, reason }) => this.lose(!wasClean, code, reason)
    socket.onmessage = ({ data }) => {
      this.isAwaited = false
      this.note('<', String(data))
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
    this.note('>', String(message))
    this.socket.send(String(message))
    return true
  }

  isConnected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN
  }

  isConnecting(): boolean {
    return this.socket?.readyState === WebSocket.CONNECTING
  }

  private watch(): void {
    this.isAwaited = false
    this.timer = setInterval(() => {
      if (this.isAwaited) return this.lose(true, 1006, 'no answer')
      this.isAwaited = true
      this.socket?.send(ping)
    }, askMs)
  }

  private lose(isError: boolean, code: number, reason: string): void {
    this.disconnect()
    this.ondisconnect(isError, code, reason)
  }

  private note(way: '<' | '>', message: string): void {
    if (message !== ping && message !== pong) this.tell(`${way} ${message.split('\r\n', 1)[0]}`)
  }
}
