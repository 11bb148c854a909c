import { e164 } from '@trunkline/phone/phone.ts'
import { callbackEvents } from '../../../domains/applications/ops.ts'
import { type ProgramDocument, programError, type Verb, type VerbOf } from '../../../domains/calls/compat/ops.ts'
import { maxSpokenLength } from '../limits.ts'
import { type Attributes, absolute, attributesOf, makeNotes, type Notes, present } from './attribute-reader.ts'
import { childrenOf, parseTwiml, type TwimlElement, textOf } from './parser.ts'
import { TwimlError } from './twiml-error.ts'

// TwiML of calls, compiled into the verbs of programs. Defaults that the verbs have themselves are not written. Addresses
// become absolute.

/** The document that is compiled. `base`: its address; null if it has none. */
type Source = { readonly base: string | null; readonly notes: Notes }

type Compiler = (element: TwimlElement, attributes: Attributes, source: Source) => readonly Verb[]

const elementsOf = ({ children }: TwimlElement): readonly TwimlElement[] =>
  children.filter((child) => typeof child !== 'string')

const unknownVerb = (name: string, where = 'a call') =>
  programError('verb', `${where} cannot have ${name}: this verb of TwiML is not offered`)

/** Refuses elements that are nested where none may be. */
const withoutElements = (element: TwimlElement): void => {
  const [first] = elementsOf(element)
  if (first) throw unknownVerb(first.name, element.name)
}

/** Elements of SSML that separate words. */
const separators = new Set(['break', 'p', 's'])

/** Returns the text that is spoken: that of the elements of SSML, too, which have no other effect. */
const spokenOf = (element: TwimlElement, notes: Notes): string =>
  element.children
    .map((child) => {
      if (typeof child === 'string') return child
      notes.add(`Say: the element ${child.name.slice(0, 40)} has no effect, its text is spoken`)
      const text = spokenOf(child, notes)
      return separators.has(child.name) ? ` ${text} ` : text
    })
    .join('')

const say = (element: TwimlElement, attributes: Attributes, { notes }: Source): VerbOf<'say'>[] => {
  const text = spokenOf(element, notes).replace(/\s+/g, ' ').trim()
  const [voice, language] = [attributes.text('voice'), attributes.text('language')]
  const loop = attributes.number('loop', 0, 1_000)
  if (text.length > maxSpokenLength) throw programError('attribute', `Say has more than ${maxSpokenLength} characters`)
  if (text === '') {
    notes.add('Say: it has no text')
    return []
  }
  return [
    {
      verb: 'say',
      text,
      ...present({ voice: voice?.slice(0, 64) || undefined, language: language?.slice(0, 16) || 'en-US', loop }),
    },
  ]
}

const keysForm = /^[0-9*#A-DwW]{1,64}$/

/** Keys to send; undefined without one. @throws ProgramError */
const keysOf = (attributes: Attributes, name: string, element: string): string | undefined => {
  const keys = attributes.text(name)?.replace(/[a-d]/g, (key) => key.toUpperCase()) || undefined
  if (keys !== undefined && !keysForm.test(keys))
    throw programError('attribute', `${element} ${name} must be 1 to 64 of 0 to 9, A to D, *, #, w and W`)
  return keys
}

const play = (
  element: TwimlElement,
  attributes: Attributes,
  { base, notes }: Source,
): (VerbOf<'play'> | VerbOf<'dtmf'>)[] => {
  withoutElements(element)
  const url = textOf(element).trim()
  const loop = attributes.number('loop', 0, 1_000)
  const digits = keysOf(attributes, 'digits', 'Play')
  if (url === '' && !digits) notes.add('Play: it has no address')
  return [
    ...(digits !== undefined ? [{ verb: 'dtmf' as const, digits }] : []),
    ...(url === '' ? [] : [{ verb: 'play' as const, url: absolute(base, url, 'Play'), ...present({ loop }) }]),
  ]
}

const pause = (element: TwimlElement, attributes: Attributes): VerbOf<'pause'>[] => {
  withoutElements(element)
  return [{ verb: 'pause', ...present({ seconds: attributes.number('length', 1, 600) }) }]
}

/** Keys that end an input; empty: none. */
const endingKeysOf = (attributes: Attributes): string | undefined => {
  const keys = attributes.text('finishOnKey')?.toUpperCase()
  return keys === undefined || /^[0-9*#A-D]{0,16}$/.test(keys) ? keys : attributes.invalid('finishOnKey')
}

/** Prompts of a Gather. */
const promptsOf = (element: TwimlElement, source: Source): NonNullable<VerbOf<'gather'>['prompts']> =>
  elementsOf(element).flatMap((child) => {
    const { name } = child
    const make: Compiler | undefined =
      name === 'Say' ? say : name === 'Play' ? play : name === 'Pause' ? pause : undefined
    if (!make) throw unknownVerb(name, 'Gather')
    return compileWith(make, child, source).flatMap((verb) => {
      if (verb.verb === 'say' || verb.verb === 'play' || verb.verb === 'pause') return [verb]
      source.notes.add('Play: digits within Gather have no effect')
      return []
    })
  })

const gather: Compiler = (element, attributes, source) => {
  const inputs = (attributes.text('input') ?? 'dtmf').split(/[\s,]+/).filter((one) => one !== '')
  if (inputs.length > 0 && !inputs.includes('dtmf'))
    throw programError('attribute', `Gather with input="${inputs.join(' ')}" is not offered: keys alone are gathered`)
  if (inputs.length > 1) source.notes.add('Gather: speech is not recognised, keys alone are gathered')
  const timeout =
    attributes.text('timeout') === 'auto' ? attributes.invalid('timeout') : attributes.number('timeout', 0, 600)
  const isEmptyReported = attributes.flag('actionOnEmptyResult')
  const prompts = promptsOf(element, source)
  return [
    {
      verb: 'gather',
      ...attributes.action(source.base),
      ...present({
        prompts: prompts.length > 0 ? prompts.slice(0, 50) : undefined,
        num_digits: attributes.number('numDigits', 1, 64),
        finish_on_key: endingKeysOf(attributes),
        timeout,
        barge_in: attributes.flag('bargeIn'),
        on_empty: isEmptyReported ? ('action' as const) : ('next' as const),
      }),
    },
  ]
}

const record: Compiler = (element, attributes, { base }) => {
  withoutElements(element)
  const trim = attributes.word('trim', ['trim-silence', 'do-not-trim'])
  return [
    {
      verb: 'record',
      // Without an action the document is requested again.
      ...attributes.action(base),
      ...present({
        max_seconds: attributes.number('maxLength', 1, 14_400),
        timeout: attributes.number('timeout', 0, 600),
        finish_on_key: endingKeysOf(attributes),
        beep: attributes.flag('playBeep'),
        trim: trim === undefined ? undefined : trim === 'trim-silence',
        ...recordingCallbackOf(attributes),
      }),
    },
  ]
}

/** The address that gets a recording once it is stored. */
const recordingCallbackOf = (attributes: Attributes) => {
  // The one event that is reported.
  attributes.word('recordingStatusCallbackEvent', ['completed'])
  const status_url = attributes.address('recordingStatusCallback')
  const status_method = attributes.method('recordingStatusCallbackMethod')
  return status_url === undefined ? {} : { status_url, status_method }
}

type Dial = VerbOf<'dial'>

/** A target of a Dial, and the document that its callee hears before it is connected. */
type DialTarget = { readonly target: Dial['targets'][number]; readonly confirm?: Dial['confirm'] }

/** A number as it is dialled; a text that is no number is left to fail as a destination. */
const numberOf = (text: string) => {
  const plain = text.replace(/[\s().-]/g, '')
  return { number: e164(plain) ?? plain.slice(0, 64) }
}

/** The receiver of the statuses of a dialled call. */
const callCallbackOf = (attributes: Attributes) => {
  const status_url = attributes.address('statusCallback')
  const status_method = attributes.method('statusCallbackMethod')
  const status_events = attributes.words('statusCallbackEvent', callbackEvents)
  return status_url === undefined ? {} : present({ status_url, status_method, status_events })
}

/** The document for the callee, at an address. Its end connects the callee, as that of any other. */
const confirmOf = (attributes: Attributes): Pick<DialTarget, 'confirm'> => {
  const url = attributes.address('url')
  const method = attributes.method('method')
  return url === undefined ? {} : { confirm: [{ verb: 'redirect', url, ...present({ method }) }] }
}

const targetOf = (element: TwimlElement, { base, notes }: Source): DialTarget => {
  const attributes = attributesOf(element, base, notes)
  const isNumber = element.name === 'Number'
  if (isNumber) withoutElements(element)
  else if (element.name !== 'Client') throw unknownVerb(element.name, 'Dial')
  const reports = callCallbackOf(attributes)
  const confirm = confirmOf(attributes)
  const send_digits = isNumber ? keysOf(attributes, 'sendDigits', 'Number') : undefined
  attributes.end()
  if (isNumber) return { target: { ...numberOf(textOf(element)), ...present({ send_digits }), ...reports }, ...confirm }
  for (const child of elementsOf(element)) {
    if (child.name === 'Parameter') notes.add('Client: Parameter has no effect')
    else if (child.name !== 'Identity') throw unknownVerb(child.name, 'Client')
  }
  const [identity] = childrenOf(element, 'Identity')
  const own = element.children.filter((child) => typeof child === 'string').join('')
  return { target: { user_uuid: (identity ? textOf(identity) : own).trim(), ...reports }, ...confirm }
}

const recordWords = [
  'do-not-record',
  'false',
  'true',
  'record-from-answer',
  'record-from-answer-dual',
  'record-from-ringing',
  'record-from-ringing-dual',
] as const

const dial: Compiler = (element, attributes, source) => {
  const elements = elementsOf(element)
  const text = element.children
    .filter((child) => typeof child === 'string')
    .join('')
    .trim()
  const plain: DialTarget[] = text === '' ? [] : [{ target: numberOf(text) }]
  const targets = [...plain, ...elements.map((one) => targetOf(one, source))]
  const [first] = targets
  if (!first) throw programError('attribute', 'Dial has no number and no Client')
  if (targets.length > 1) {
    const names = elements.map(({ name }) => name).join(', ')
    throw programError('attribute', `Dial with several targets is not offered: ${names}`)
  }
  const record = attributes.word('record', recordWords)
  if (record?.startsWith('record-from-ringing')) source.notes.add('Dial: it is recorded from the answer on')
  const isRecorded = record !== undefined && record !== 'do-not-record' && record !== 'false'
  return [
    {
      verb: 'dial',
      targets: [first.target],
      // Without an action the next verb follows.
      ...attributes.action(null),
      ...present({
        timeout: attributes.number('timeout', 5, 600),
        max_seconds: attributes.number('timeLimit', 1, 86_400),
        caller_id: attributes.text('callerId')?.slice(0, 32) || undefined,
        answer_on_bridge: attributes.flag('answerOnBridge'),
        hangup_on_star: attributes.flag('hangupOnStar'),
        record: isRecorded ? ('from_answer' as const) : undefined,
        confirm: first.confirm,
      }),
    },
  ]
}

const redirect: Compiler = (element, attributes, { base }) => {
  withoutElements(element)
  return [
    {
      verb: 'redirect',
      url: absolute(base, textOf(element), 'Redirect'),
      ...present({ method: attributes.method('method') }),
    },
  ]
}

const tracks = { inbound_track: 'inbound', outbound_track: 'outbound', both_tracks: 'both' } as const

/** Returns the parameters of a stream. */
const parametersOf = (element: TwimlElement, { base, notes }: Source): Record<string, string> | undefined => {
  const parameters = elementsOf(element).flatMap((child) => {
    if (child.name !== 'Parameter') throw unknownVerb(child.name, 'Stream')
    const attributes = attributesOf(child, base, notes)
    const [name = '', value = ''] = [attributes.text('name'), attributes.text('value')]
    attributes.end()
    if (name.length > 500 || value.length > 500)
      throw programError('attribute', 'Parameter: name and value have at most 500 characters each')
    return name === '' ? [] : [[name, value] as const]
  })
  return parameters.length === 0 ? undefined : Object.fromEntries(parameters)
}

const streamOf = (
  element: TwimlElement,
  attributes: Attributes,
  source: Source,
  direction: 'both' | 'in',
): VerbOf<'stream'> => {
  const url = new URL(absolute(null, attributes.text('url') ?? '', 'Stream url'))
  if (url.protocol !== 'wss:' && url.protocol !== 'ws:')
    throw programError('attribute', 'Stream url must begin with wss:')
  // Values belong into Parameter: the query and the fragment are not requested.
  if (url.search !== '') source.notes.add('Stream: the query of its url is not requested, use Parameter')
  url.search = ''
  url.hash = ''
  const track = attributes.word('track', Object.keys(tracks) as (keyof typeof tracks)[])
  const status_url = attributes.address('statusCallback')
  const status_method = attributes.method('statusCallbackMethod')
  return {
    verb: 'stream',
    url: url.href,
    direction,
    ...present({
      track: track === undefined ? undefined : tracks[track],
      name: attributes.text('name')?.slice(0, 64) || undefined,
      parameters: parametersOf(element, source),
      ...(status_url === undefined ? {} : { status_url, status_method }),
    }),
  }
}

/** The elements of Start and Stop. */
const backgroundVerbs = {
  Start: new Map<string, Compiler>([
    ['Stream', (element, attributes, source) => [streamOf(element, attributes, source, 'in')]],
    [
      'Recording',
      (element, attributes) => {
        withoutElements(element)
        return [{ verb: 'record_call', do: 'start', ...present(recordingCallbackOf(attributes)) }]
      },
    ],
  ]),
  Stop: new Map<string, Compiler>([
    [
      'Stream',
      (_element, attributes) => [
        { verb: 'stop_stream', ...present({ name: attributes.text('name')?.slice(0, 64) || undefined }) },
      ],
    ],
    ['Recording', () => [{ verb: 'record_call', do: 'stop' }]],
  ]),
} as const

const background =
  (name: 'Start' | 'Stop'): Compiler =>
  (element, _attributes, source) =>
    elementsOf(element).flatMap((child) => {
      const make = backgroundVerbs[name].get(child.name)
      if (!make) throw unknownVerb(child.name, name)
      return compileWith(make, child, source)
    })

const connect: Compiler = (element, attributes, source) => {
  const [child, second] = elementsOf(element)
  if (!child) throw programError('attribute', 'Connect has no Stream')
  if (child.name !== 'Stream') throw unknownVerb(child.name, 'Connect')
  if (second) throw programError('attribute', `Connect with several elements is not offered: ${second.name}`)
  const make: Compiler = (stream, own, from) => [{ ...streamOf(stream, own, from, 'both'), ...attributes.action(null) }]
  return compileWith(make, child, source)
}

const compilers: ReadonlyMap<string, Compiler> = new Map(
  Object.entries<Compiler>({
    Say: say,
    Play: play,
    Pause: pause,
    Gather: gather,
    Record: record,
    Dial: dial,
    Redirect: redirect,
    Reject: (_element, attributes) => [
      { verb: 'reject', ...present({ reason: attributes.word('reason', ['rejected', 'busy']) }) },
    ],
    Hangup: () => [{ verb: 'hangup' }],
    Connect: connect,
    Start: background('Start'),
    Stop: background('Stop'),
  }),
)

function compileWith(make: Compiler, element: TwimlElement, source: Source): readonly Verb[] {
  const attributes = attributesOf(element, source.base, source.notes)
  const verbs = make(element, attributes, source)
  attributes.end()
  return verbs
}

const parse = (text: string): readonly TwimlElement[] => {
  try {
    return parseTwiml(text)
  } catch (error) {
    if (!(error instanceof TwimlError)) throw error
    throw programError(error.code === 11750 ? 'too_large' : 'malformed', error.message)
  }
}

/**
 * Compiles a document of a call. Attributes that have no effect are noted.
 * @param base address of the document; null for one that a request brought, which can have full addresses only
 * @throws ProgramError `verb` for a verb that is not offered, by its name; `attribute`, `malformed` and `too_large` as they say
 */
export const compileCallDocument = (base: string | null, text: string): ProgramDocument => {
  const source: Source = { base, notes: makeNotes() }
  const verbs = parse(text).flatMap((element) => {
    const make = compilers.get(element.name)
    if (!make) throw unknownVerb(element.name)
    return compileWith(make, element, source)
  })
  return { verbs, notes: source.notes.lines, baseUrl: base }
}
