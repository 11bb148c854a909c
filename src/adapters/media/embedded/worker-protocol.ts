import type {
  MediaDirection,
  MediaEvents,
  MediaLegOptions,
  MediaLegStats,
  MediaPlayed,
  MediaRecording,
  MediaResult,
  MediaSound,
  MediaSpeechOptions,
} from '../../../ports/media.ts'
import type { MediaStreamEnd, MediaStreamOptions } from '../../../ports/media-stream.ts'
import type { TransportAddresses } from './transport.ts'
import type { PortRange } from './udp-ports.ts'

// Messages between the engine and its workers: plain data that a message channel can clone.

/** Start parameters of a worker. */
export type WorkerSettings = {
  readonly addresses: TransportAddresses
  readonly rtpPorts: PortRange
  readonly webrtcPorts: PortRange
  readonly silenceSeconds: number
}

type ChannelOfCall = { readonly leg: string; readonly of: 'said' | 'heard' }

type ListenerOfLeg = { readonly leg: string; readonly listener: string }

type StreamOfCall = { readonly stream: string }

type FeedOfLeg = { readonly leg: string; readonly feed: string }

/** Requests to a call, with their replies. */
export type CallOperations = {
  open: { readonly ask: null; readonly answer: null }
  addLeg: { readonly ask: MediaLegOptions; readonly answer: null }
  describe: { readonly ask: { readonly leg: string }; readonly answer: string }
  accept: {
    readonly ask: { readonly leg: string; readonly answer: string; readonly source: string | null }
    readonly answer: null
  }
  renegotiate: { readonly ask: { readonly leg: string; readonly offer: string }; readonly answer: string }
  reoffer: { readonly ask: { readonly leg: string; readonly direction: MediaDirection }; readonly answer: string }
  press: { readonly ask: { readonly leg: string; readonly digits: string }; readonly answer: null }
  listenForKeys: { readonly ask: { readonly leg: string }; readonly answer: null }
  play: {
    readonly ask: { readonly leg: string; readonly sounds: readonly MediaSound[] }
    readonly answer: MediaPlayed
  }
  listenForSpeech: {
    readonly ask: { readonly leg: string; readonly options: MediaSpeechOptions | null }
    readonly answer: null
  }
  listen: { readonly ask: ListenerOfLeg & { readonly of: 'said' | 'heard' }; readonly answer: null }
  unlisten: { readonly ask: ListenerOfLeg; readonly answer: null }
  playTone: { readonly ask: { readonly leg: string; readonly hertz: number }; readonly answer: null }
  stopSounds: { readonly ask: { readonly leg: string }; readonly answer: null }
  openFeed: { readonly ask: FeedOfLeg; readonly answer: null }
  pushFeed: { readonly ask: FeedOfLeg & { readonly chunk: Uint8Array }; readonly answer: null }
  endFeed: { readonly ask: FeedOfLeg; readonly answer: null }
  clearFeed: { readonly ask: FeedOfLeg; readonly answer: number }
  openStream: {
    readonly ask: StreamOfCall & { readonly leg: string; readonly options: MediaStreamOptions }
    readonly answer: null
  }
  pressStream: { readonly ask: StreamOfCall & { readonly digit: string }; readonly answer: null }
  stopStream: { readonly ask: StreamOfCall; readonly answer: null }
  unbridge: { readonly ask: { readonly leg: string }; readonly answer: null }
  removeLeg: { readonly ask: { readonly leg: string }; readonly answer: null }
  bridge: { readonly ask: { readonly one: string; readonly other: string }; readonly answer: null }
  startRecording: {
    readonly ask: {
      readonly recording: string
      readonly path: string
      readonly left: ChannelOfCall
      readonly right: ChannelOfCall | null
    }
    readonly answer: null
  }
  pauseRecording: {
    readonly ask: { readonly recording: string; readonly fill: 'silence' | 'skip' | null }
    readonly answer: null
  }
  stopRecording: { readonly ask: { readonly recording: string }; readonly answer: MediaRecording }
  stats: { readonly ask: null; readonly answer: readonly MediaLegStats[] }
  close: { readonly ask: null; readonly answer: null }
}

export type CallOperation = keyof CallOperations

export type WorkerRequest = {
  [A in CallOperation]: {
    readonly id: number
    readonly call: string
    readonly act: A
    readonly ask: CallOperations[A]['ask']
  }
}[CallOperation]

type WorkerEvent = {
  [E in keyof MediaEvents]-?: {
    readonly event: E
    readonly call: string
    readonly args: Parameters<Required<MediaEvents>[E]>
  }
}[keyof MediaEvents]

/** An event of a stream. */
export type StreamEvent =
  | { readonly what: 'opened' }
  | { readonly what: 'dropped'; readonly of: 'sent' | 'received' }
  | { readonly what: 'ended'; readonly end: MediaStreamEnd }

/** A message of a worker. `fault`: an error of the worker that belongs to no request. */
export type WorkerMessage =
  | { readonly word: 'ready' }
  | { readonly word: 'answer'; readonly id: number; readonly answer: MediaResult<unknown> }
  | { readonly word: 'event'; readonly happening: WorkerEvent }
  | { readonly word: 'frame'; readonly call: string; readonly listener: string; readonly frame: Uint8Array }
  | { readonly word: 'stream'; readonly call: string; readonly stream: string; readonly event: StreamEvent }
  | { readonly word: 'fault'; readonly reason: string }

export type { WorkerEvent as Happening }
