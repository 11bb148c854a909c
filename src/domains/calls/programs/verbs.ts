import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { callbackEvents } from '../../applications/ops.ts'

/**
 * The verbs of documents: what a program can do in a call. JSON documents are checked against these schemas, and TwiML is
 * compiled into them. Times are seconds. Addresses may be relative to that of the document.
 */

// The longest is that of a document in the shape of Twilio, which is the action of its verbs.
const Address = Type.String({ minLength: 1, maxLength: 4_096 })
const Method = Type.Union([Type.Literal('GET'), Type.Literal('POST')])
const Times = Type.Integer({ minimum: 0, maximum: 1_000 })
const Seconds = (maximum: number, minimum = 0) => Type.Number({ minimum, maximum })

const Digits = Type.String({ minLength: 1, maxLength: 64, pattern: '^[0-9*#A-DwW]+$' })

/** Attributes of every verb. `id` is repeated in its result; `action` gets the result and answers with the next document. */
const common = {
  id: Type.Optional(Type.String({ maxLength: 64 })),
  action: Type.Optional(Address),
  action_method: Type.Optional(Method),
}

const verb = <N extends string, P extends TProperties>(name: N, properties: P) =>
  Type.Object({ verb: Type.Literal(name), ...common, ...properties })

const Say = verb('say', {
  text: Type.String({ minLength: 1, maxLength: 4_096 }),
  voice: Type.Optional(Type.String({ maxLength: 64 })),
  language: Type.Optional(Type.String({ maxLength: 16 })),
  /** 0: until it is interrupted. */
  loop: Type.Optional(Times),
  /** Plays before the answer. */
  early: Type.Optional(Type.Boolean()),
})

const Play = verb('play', {
  url: Type.Optional(Address),
  urls: Type.Optional(Type.Array(Address, { minItems: 1, maxItems: 10 })),
  clip_uuid: Type.Optional(Type.String()),
  /** Hertz, of tones that sound together, for a second at most 60 times. */
  tone: Type.Optional(
    Type.Object({
      hertz: Type.Array(Type.Integer({ minimum: 100, maximum: 3_400 }), { minItems: 1, maxItems: 4 }),
      on_ms: Type.Integer({ minimum: 20, maximum: 60_000 }),
      off_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
    }),
  ),
  loop: Type.Optional(Times),
  from_seconds: Type.Optional(Seconds(3_600)),
  max_seconds: Type.Optional(Seconds(3_600, 0.1)),
  early: Type.Optional(Type.Boolean()),
})

const Pause = verb('pause', { seconds: Type.Optional(Seconds(600)) })

const Prompt = Type.Union([Say, Play, Pause])

const Gather = verb('gather', {
  input: Type.Optional(Type.Array(Type.Literal('dtmf'), { minItems: 1, maxItems: 1 })),
  prompts: Type.Optional(Type.Array(Prompt, { maxItems: 50 })),
  num_digits: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
  /** Empty: no key ends the input. */
  finish_on_key: Type.Optional(Type.String({ maxLength: 16, pattern: '^[0-9*#A-D]*$' })),
  timeout: Type.Optional(Seconds(600)),
  inter_digit_timeout: Type.Optional(Seconds(600)),
  barge_in: Type.Optional(Type.Boolean()),
  on_empty: Type.Optional(Type.Union([Type.Literal('next'), Type.Literal('action')])),
})

const Record = verb('record', {
  max_seconds: Type.Optional(Seconds(14_400, 1)),
  /** Seconds of silence that end it; 0: silence never does. */
  timeout: Type.Optional(Seconds(600)),
  finish_on_key: Type.Optional(Type.String({ maxLength: 16, pattern: '^[0-9*#A-D]*$' })),
  beep: Type.Optional(Type.Boolean()),
  trim: Type.Optional(Type.Boolean()),
  /** Gets the recording once it is stored. */
  status_url: Type.Optional(Address),
  status_method: Type.Optional(Method),
})

const Dtmf = verb('dtmf', { digits: Digits })

const Tag = verb('tag', { data: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown()) })

const Redirect = verb('redirect', { url: Address, method: Type.Optional(Method) })

const Reject = verb('reject', {
  reason: Type.Optional(
    Type.Union([Type.Literal('rejected'), Type.Literal('busy'), Type.Literal('unavailable'), Type.Literal('unknown')]),
  ),
})

const HangUp = verb('hangup', { reason: Type.Optional(Type.String({ maxLength: 100 })) })

const ScreeningVerb = Type.Union([Say, Play, Pause, Gather, Dtmf, Tag, Redirect, Reject, HangUp])

/** Verbs that may run for the callee of a `dial` before it is connected. */
export const screeningVerbs = ScreeningVerb.anyOf.map(({ properties }) => properties.verb.const)

/** The receiver of the statuses of a dialled call. */
const reports = {
  status_url: Type.Optional(Address),
  status_method: Type.Optional(Method),
  /** Default: the end alone. */
  status_events: Type.Optional(
    Type.Array(Type.Enum([...callbackEvents]), {
      minItems: 1,
      maxItems: callbackEvents.length,
    }),
  ),
}

/** The targets of a `dial`. `send_digits`: keys that are sent after the answer, before `confirm`. */
export const dialTargetSchemas = {
  number: Type.Object({ number: Type.String(), send_digits: Type.Optional(Digits), ...reports }),
  user: Type.Object({ user_uuid: Type.String(), ...reports }),
}

const Dial = verb('dial', {
  targets: Type.Array(Type.Union([dialTargetSchemas.number, dialTargetSchemas.user]), { minItems: 1, maxItems: 1 }),
  timeout: Type.Optional(Seconds(600, 5)),
  max_seconds: Type.Optional(Seconds(86_400, 1)),
  caller_id: Type.Optional(Type.String({ maxLength: 32 })),
  answer_on_bridge: Type.Optional(Type.Boolean()),
  hangup_on_star: Type.Optional(Type.Boolean()),
  record: Type.Optional(Type.Union([Type.Literal('none'), Type.Literal('from_answer')])),
  /** Verbs for the callee, after its answer and before the two are connected. */
  confirm: Type.Optional(Type.Array(ScreeningVerb, { minItems: 1, maxItems: 50 })),
})

const Stream = verb('stream', {
  url: Address,
  /** `both` holds the call until the stream ends; `in` goes on in the background. */
  direction: Type.Optional(Type.Union([Type.Literal('both'), Type.Literal('in')])),
  track: Type.Optional(Type.Union([Type.Literal('inbound'), Type.Literal('outbound'), Type.Literal('both')])),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  parameters: Type.Optional(Type.Record(Type.String({ maxLength: 500 }), Type.String({ maxLength: 500 }))),
  format: Type.Optional(
    Type.Union([
      Type.Literal('audio/x-mulaw;rate=8000'),
      Type.Literal('audio/l16;rate=8000'),
      Type.Literal('audio/l16;rate=16000'),
      Type.Literal('audio/l16;rate=24000'),
    ]),
  ),
  framing: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('binary')])),
  status_url: Type.Optional(Address),
  status_method: Type.Optional(Method),
  max_seconds: Type.Optional(Seconds(86_400, 1)),
  on_error: Type.Optional(Type.Union([Type.Literal('next'), Type.Literal('action')])),
})

/** The schema of each verb, by its name. */
export const verbSchemas = {
  answer: verb('answer', {}),
  ring: verb('ring', { seconds: Type.Optional(Seconds(600)) }),
  say: Say,
  play: Play,
  pause: Pause,
  gather: Gather,
  record: Record,
  dial: Dial,
  stream: Stream,
  stop_stream: verb('stop_stream', { name: Type.Optional(Type.String({ maxLength: 64 })) }),
  record_call: verb('record_call', {
    do: Type.Union([Type.Literal('start'), Type.Literal('pause'), Type.Literal('resume'), Type.Literal('stop')]),
    pause: Type.Optional(Type.Union([Type.Literal('silence'), Type.Literal('skip')])),
    status_url: Type.Optional(Address),
    status_method: Type.Optional(Method),
  }),
  dtmf: Dtmf,
  tag: Tag,
  redirect: Redirect,
  reject: Reject,
  hangup: HangUp,
} as const satisfies Readonly<Record<string, TSchema>>

export type VerbName = keyof typeof verbSchemas

export type VerbOf<N extends VerbName> = Static<(typeof verbSchemas)[N]>

export type Verb = { [N in VerbName]: VerbOf<N> }[VerbName]
