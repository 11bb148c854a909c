import type { MediaResult } from '../../../ports/media.ts'
import type { MediaStreamEnd, MediaStreamEvents, MediaStreamOptions } from '../../../ports/media-stream.ts'
import { octetsPerMs } from '../embedded/g711-frame.ts'
import type { Leg } from '../embedded/leg.ts'
import { defaultPacketMs, maxInvalidFrames, maxStreamMarks } from '../limits.ts'
import { done, errorMessage, refused } from '../result.ts'
import { type AudioConverter, makeAudioDecoder, makeAudioEncoder } from './stream-audio.ts'
import { connectedFrame, makeFrameWriter, readFrame, type TheirFrame } from './stream-frames.ts'
import { StreamOutbox } from './stream-outbox.ts'
import { StreamPlayout } from './stream-playout.ts'
import { openStreamSocket, type SocketEnd, type StreamSocket } from './stream-socket.ts'

type Track = 'inbound' | 'outbound'

/** Close codes of the ends that are ours (RFC 6455, 7.4.1): a normal end, and a server that breaks the rules. */
const closeCodes = { stopped: 1000, time: 1000, call_ended: 1000, broken: 1008, protocol: 1008 } as const

type OwnEnd = keyof typeof closeCodes

const noEvent = () => {}

/** A stream of a leg: its audio to a WebSocket server, and that of the server to the peer. */
export class LegStream {
  private readonly id: string
  private readonly leg: Leg
  private readonly options: MediaStreamOptions
  private readonly events: MediaStreamEvents
  private readonly playout: StreamPlayout
  private readonly decode: AudioConverter
  private socket: StreamSocket | null = null
  /** Null until the WebSocket is open. */
  private outbox: StreamOutbox | null = null
  private openedAt = 0
  private isOver = false
  /** Whether the leg plays the audio of the server. Other sounds may take its place. */
  private isPlaying = false
  private invalid = 0
  private droppedBytes = 0
  private timer: NodeJS.Timeout | null = null

  /** @param id of the stream within the call */
  constructor(id: string, leg: Leg, options: MediaStreamOptions, events: MediaStreamEvents) {
    this.id = id
    this.leg = leg
    this.options = options
    this.events = events
    this.decode = makeAudioDecoder(options.format)
    this.playout = new StreamPlayout((name) => this.outbox?.push({ event: 'mark', name }, performance.now()))
  }

  get isTwoWay(): boolean {
    return this.options.isTwoWay
  }

  /** Whether audio of the leg `of` is played or sent by this stream. */
  isOf(leg: Leg): boolean {
    return this.leg === leg
  }

  /** Begins to connect. An event follows when the stream opens or ends. */
  begin(): MediaResult<null> {
    const { tracks, framing } = this.options
    if (tracks.length === 0 || (framing === 'binary' && tracks.length > 1))
      return refused('description', 'a stream has a track, and a binary one has exactly one')
    for (const track of tracks) {
      const listening = this.leg.taps.listen(
        this.listenerOf(track),
        track === 'inbound' ? 'said' : 'heard',
        this.sender(track),
      )
      if (listening.outcome === 'done') continue
      this.unlisten()
      return listening
    }
    void this.connect()
    return done(null)
  }

  sendKey(digit: string): MediaResult<null> {
    if (!this.options.isTwoWay) return refused('state', 'keys are sent to two-way streams only')
    if (!this.outbox || this.isOver) return refused('state', 'the stream is not open')
    this.outbox.push({ event: 'dtmf', digit }, performance.now())
    return done(null)
  }

  /** Ends the stream: sends what waits and a last frame, and closes the connection. */
  end(reason: OwnEnd, detail: string): void {
    if (this.isOver) return
    const code = closeCodes[reason]
    this.outbox?.finish({ event: 'stop' })
    this.socket?.close(code, reason === 'protocol' ? detail.slice(0, 100) : '')
    this.finish(reason, this.outbox ? code : null, detail)
  }

  private async connect(): Promise<void> {
    const { target, headers } = this.options
    try {
      const socket = await openStreamSocket(target, headers, {
        opened: () => this.open(),
        received: (frame, isBinary) => this.receive(frame, isBinary),
        ponged: (text) => this.outbox?.confirm(text),
        ended: (end) => this.loseSocket(end),
      })
      this.socket = socket
      // The stream was stopped meanwhile.
      if (this.isOver) socket.close(closeCodes.stopped, '')
    } catch (error) {
      this.finish('unreachable', null, errorMessage(error))
    }
  }

  private open(): void {
    const { socket, options } = this
    if (!socket || this.isOver) return
    this.openedAt = performance.now()
    const format = { isBinary: options.framing === 'binary', tracks: options.tracks.length }
    const outbox = new StreamOutbox(socket, makeFrameWriter(options), format, {
      dropped: () => this.events.dropped?.('sent'),
      failed: (reason, detail) => this.end(reason, detail),
    })
    socket.send(connectedFrame, noEvent)
    outbox.push({ event: 'start' }, this.openedAt)
    this.outbox = outbox
    this.timer = setTimeout(
      () => this.end('time', `the stream has lasted ${options.mostSeconds} s`),
      options.mostSeconds * 1_000,
    )
    if (options.isTwoWay) this.play()
    this.events.opened?.()
  }

  /** Returns a listener that sends the frames of a track. */
  private sender(track: Track): (frame: Buffer) => void {
    const encode = makeAudioEncoder(this.options.format)
    let chunk = 0
    return (frame) => {
      if (!this.outbox || this.isOver) return
      const timestamp = chunk * defaultPacketMs
      this.outbox.push({ event: 'media', track, chunk: ++chunk, timestamp, payload: encode(frame) }, performance.now())
    }
  }

  private receive(frame: Buffer, isBinary: boolean): void {
    const { framing, ids } = this.options
    const isAudio = isBinary && framing === 'binary'
    const read = isAudio
      ? ({ event: 'media', payload: frame } as const)
      : isBinary
        ? 'a frame is binary'
        : readFrame(frame.toString(), ids.stream)
    if (typeof read === 'string') {
      if (++this.invalid >= maxInvalidFrames) this.end('protocol', `${this.invalid} invalid frames in a row: ${read}`)
      return
    }
    this.invalid = 0
    if (this.options.isTwoWay) this.take(read)
  }

  private take(frame: TheirFrame): void {
    if (frame.event === 'clear') this.playout.clear()
    else if (frame.event === 'mark') {
      if (!this.playout.mark(frame.name)) this.end('protocol', `more than ${maxStreamMarks} marks wait`)
    } else {
      const dropped = this.playout.push(this.decode(frame.payload))
      if (dropped > 0 && this.droppedBytes === 0) this.events.dropped?.('received')
      this.droppedBytes += dropped
      this.play()
    }
  }

  /** Plays the audio of the server, unless that is so already. Other sounds end; they may end this in turn. */
  private play(): void {
    if (this.isPlaying || this.isOver) return
    this.isPlaying = true
    const read = () => (this.isOver ? null : this.playout.read())
    this.leg
      .play(async () => [read])
      .then(async (begun) => {
        if (begun.outcome === 'done') await begun.value.ended
      })
      .finally(() => {
        this.isPlaying = false
        if (!this.isOver) this.playout.clear()
      })
  }

  private loseSocket({ how, code, detail }: SocketEnd): void {
    if (how === 'lost') this.finish(this.outbox ? 'broken' : 'unreachable', code, detail)
    else this.finish(how, code, detail)
  }

  private finish(reason: MediaStreamEnd['reason'], code: number | null, detail: string): void {
    if (this.isOver) return
    this.isOver = true
    if (this.timer) clearTimeout(this.timer)
    this.unlisten()
    this.events.ended({
      reason,
      code,
      detail,
      seconds: this.outbox ? (performance.now() - this.openedAt) / 1_000 : 0,
      framesSent: this.outbox?.sent ?? 0,
      framesDropped: this.outbox?.dropped ?? 0,
      droppedMs: Math.ceil(this.droppedBytes / octetsPerMs),
    })
  }

  private listenerOf(track: Track): string {
    return `stream ${this.id} ${track}`
  }

  private unlisten(): void {
    for (const track of this.options.tracks) this.leg.taps.unlisten(this.listenerOf(track))
  }
}
