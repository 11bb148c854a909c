import type {
  MediaAnswer,
  MediaDirection,
  MediaEvents,
  MediaLegStats,
  MediaLegWish,
  MediaRecording,
} from '../../port.ts'
import type { Place } from './line.ts'
import type { PortRange } from './ports.ts'

/** What goes between the engine and its workers: plain data, as a message channel clones it. */

/** What a worker is started with. */
export type WorkerSettings = {
  readonly place: Place
  readonly rtpPorts: PortRange
  readonly webrtcPorts: PortRange
  readonly silenceSeconds: number
}

/** What can be asked of a call, with what is answered. */
export type Acts = {
  open: { readonly ask: null; readonly answer: null }
  addLeg: { readonly ask: MediaLegWish; readonly answer: null }
  describe: { readonly ask: { readonly leg: string }; readonly answer: string }
  accept: {
    readonly ask: { readonly leg: string; readonly answer: string; readonly source: string | null }
    readonly answer: null
  }
  renegotiate: { readonly ask: { readonly leg: string; readonly offer: string }; readonly answer: string }
  reoffer: { readonly ask: { readonly leg: string; readonly direction: MediaDirection }; readonly answer: string }
  press: { readonly ask: { readonly leg: string; readonly digits: string }; readonly answer: null }
  play: { readonly ask: { readonly leg: string; readonly hertz: number | null }; readonly answer: null }
  bridge: { readonly ask: { readonly one: string; readonly other: string }; readonly answer: null }
  startRecording: {
    readonly ask: { readonly path: string; readonly left: string; readonly right: string }
    readonly answer: null
  }
  stopRecording: { readonly ask: null; readonly answer: MediaRecording }
  stats: { readonly ask: null; readonly answer: readonly MediaLegStats[] }
  close: { readonly ask: null; readonly answer: null }
}

export type Act = keyof Acts

export type Order = {
  [A in Act]: { readonly id: number; readonly call: string; readonly act: A; readonly ask: Acts[A]['ask'] }
}[Act]

type Happening = {
  [E in keyof MediaEvents]: {
    readonly event: E
    readonly call: string
    readonly told: Parameters<MediaEvents[E]>
  }
}[keyof MediaEvents]

/** What a worker says. A fault is an error of the worker that no call asked for. */
export type Word =
  | { readonly word: 'ready' }
  | { readonly word: 'answer'; readonly id: number; readonly answer: MediaAnswer<unknown> }
  | { readonly word: 'event'; readonly happening: Happening }
  | { readonly word: 'fault'; readonly reason: string }

export type { Happening }
