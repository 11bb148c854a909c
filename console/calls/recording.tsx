import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { sameOrigin } from '../api/files.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { Skeleton } from '../parts/page-states.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words } from '../words/en/calls.ts'
import { number, stopwatch } from '../words/format.ts'
import { type Call, partiesOf } from './call-state.tsx'
import { isUser } from './party.tsx'
import { type Peaks, peaksOf } from './wav.ts'
import { Waveform } from './waveform.tsx'

type Search = PageOf<typeof paths.call>['search']

const parts = 400
const step = 5
const speeds = [0.75, 1, 1.25, 1.5, 2] as const

/** Why a call has no recording. */
const reasonOf = (call: Call): string => {
  const { active, duration, direction, is_sip_trunk_call: isTrunk, caller_id_used: shown } = call
  if (active) return words.recording.whyRunning
  if (duration === 0) return words.recording.whyMissed
  // Colleagues show no number to each other: the API made the call.
  if (isUser(call.to_number) && shown !== '') return words.recording.whyProgram
  return isTrunk || direction === 'I' ? words.recording.whyOff : words.recording.whyColleagues
}

type RecordingFile = { readonly url: string; readonly peaks: Peaks | null }

/** Loads the file once, for the player and for the picture. */
const useRecording = (address: string) => {
  const [loaded, setLoaded] = useState<RecordingFile | null>(null)
  const [isFailed, setFailed] = useState(false)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const ending = new AbortController()
    let url = ''
    const load = async () => {
      setFailed(false)
      const response = await fetch(address, { signal: ending.signal })
      if (!response.ok) throw new Error(String(response.status))
      const file = await response.blob()
      const peaks = peaksOf(await file.arrayBuffer(), parts)
      if (ending.signal.aborted) return
      url = URL.createObjectURL(file)
      setLoaded({ url, peaks })
    }
    load().catch(() => ending.signal.aborted || setFailed(true))
    return () => {
      ending.abort()
      if (url) URL.revokeObjectURL(url)
    }
  }, [address, attempt])
  return { loaded, isFailed, again: () => setAttempt(attempt + 1) }
}

/** Marked places, in the address: a link has them. */
const marksOf = ({ marks = '' }: Search): readonly number[] =>
  marks
    .split(',')
    .map(Number)
    .filter((at) => at > 0)
    .toSorted((one, other) => one - other)

const Marks = ({
  marks,
  onGo,
  onRemove,
}: {
  marks: readonly number[]
  onGo: (at: number) => void
  onRemove: (at: number) => void
}) => (
  <ul class="call-marks" aria-label={words.recording.marks}>
    {marks.map((at) => (
      <li key={at} class="badge">
        <button type="button" class="call-mark tabular" onClick={() => onGo(at)}>
          <Icon name="flag" />
          <span aria-hidden="true">{stopwatch(at)}</span>
          <span class="for-readers">{words.recording.goTo(stopwatch(at))}</span>
        </button>
        <button type="button" class="tag-remove" onClick={() => onRemove(at)}>
          <Icon name="x" label={words.recording.unmark(stopwatch(at))} />
        </button>
      </li>
    ))}
  </ul>
)

type PlayerProps = { readonly call: Call; readonly loaded: RecordingFile; readonly search: Search }

const usePlayer = (audio: { readonly current: HTMLAudioElement | null }, start: number) => {
  const [isPlaying, setPlaying] = useState(false)
  const [time, setTime] = useState(start)
  const [length, setLength] = useState(0)
  useEffect(() => {
    if (!isPlaying) return
    const timer = setInterval(() => setTime(audio.current?.currentTime ?? 0), 100)
    return () => clearInterval(timer)
  }, [isPlaying])
  const seek = (to: number) => {
    const element = audio.current
    if (!element) return
    element.currentTime = Math.max(0, Math.min(element.duration || to, to))
    setTime(element.currentTime)
  }
  const toggle = () => {
    const element = audio.current
    if (element) void (element.paused ? element.play() : element.pause())
  }
  const events = {
    onPlay: () => setPlaying(true),
    onPause: () => setPlaying(false),
    onEnded: () => setPlaying(false),
    onLoadedMetadata: () => {
      setLength(audio.current?.duration ?? 0)
      if (start > 0) seek(start)
    },
  }
  return { isPlaying, time, length, seek, toggle, events }
}

const Player = ({ call, loaded: { url, peaks }, search }: PlayerProps) => {
  const { route: go } = useLocation()
  const audio = useRef<HTMLAudioElement>(null)
  const [speed, setSpeed] = useState(1)
  const { isPlaying, time, length, seek, toggle, events } = usePlayer(audio, Number(search.at) || 0)
  const marks = marksOf(search)
  const all = length || peaks?.seconds || 0
  useEffect(() => {
    if (audio.current) audio.current.playbackRate = speed
  }, [speed])
  const setMarks = (next: readonly number[]) =>
    go(paths.call({ call: call.uuid }, { ...search, marks: next.join() || undefined }), true)
  const mark = () => setMarks([...new Set([...marks, Math.round(time * 10) / 10 || 0.1])])
  const change = (by: 1 | -1) => {
    const place = speeds.findIndex((each) => each >= speed)
    setSpeed(speeds[Math.max(0, Math.min(speeds.length - 1, place + by))] ?? 1)
  }
  const keys: Readonly<Record<string, () => void>> = {
    ' ': toggle,
    ArrowLeft: () => seek(time - step),
    ArrowRight: () => seek(time + step),
    ArrowUp: () => change(1),
    ArrowDown: () => change(-1),
    Home: () => seek(0),
    m: mark,
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { target, key } = event
    const isOwn = target instanceof HTMLElement && target.matches('button, select, a')
    const run = keys[key.length === 1 ? key.toLowerCase() : key]
    if (!run || event.ctrlKey || event.altKey || event.metaKey) return
    // Space presses a button, and arrows change a select.
    if (isOwn && (key === ' ' || target.matches('select'))) return
    event.preventDefault()
    event.stopPropagation()
    run()
  }
  const { own, other } = partiesOf(call)
  return (
    <section class="call-player" aria-label={words.recording.player} onKeyDown={onKeyDown}>
      <audio ref={audio} src={url} preload="auto" {...events} />
      <div class="call-track">
        {peaks && (
          <>
            <div class="call-sides" aria-hidden="true">
              <span>{words.recording.us}</span>
              <span>{words.recording.them}</span>
            </div>
            <Waveform peaks={peaks} share={all > 0 ? time / all : 0} marks={marks} />
          </>
        )}
        <input
          type="range"
          class="call-seek"
          min={0}
          max={Math.max(all, 0.1)}
          step={0.1}
          value={time}
          aria-label={words.recording.position}
          aria-valuetext={words.recording.at(stopwatch(time), stopwatch(all))}
          onInput={({ currentTarget }) => seek(Number(currentTarget.value))}
        />
      </div>
      <div class="row call-controls">
        <Button icon="chevron-left" iconOnly onClick={() => seek(time - step)}>
          {words.recording.back}
        </Button>
        <Button kind="primary" icon={isPlaying ? 'pause' : 'play'} onClick={toggle}>
          {isPlaying ? words.recording.pause : words.recording.play}
        </Button>
        <Button icon="chevron-right" iconOnly onClick={() => seek(time + step)}>
          {words.recording.forward}
        </Button>
        <span class="tabular">{words.recording.at(stopwatch(time), stopwatch(all))}</span>
        <SelectField
          name="speed"
          label={words.recording.speed}
          hideLabel
          value={String(speed)}
          onChange={(value) => setSpeed(Number(value))}
          options={speeds.map((value) => ({ value: String(value), text: `${number(value)}×` }))}
        />
        <Button icon="flag" onClick={mark}>
          {words.recording.mark}
        </Button>
        <ButtonLink icon="download" kind="quiet" href={url} download={`${call.uuid} ${own} ${other}.wav`}>
          {words.recording.save}
        </ButtonLink>
      </div>
      {marks.length > 0 && (
        <Marks marks={marks} onGo={seek} onRemove={(at) => setMarks(marks.filter((each) => each !== at))} />
      )}
      <p class="soft call-hint">{words.recording.keys}</p>
    </section>
  )
}

const Loader = ({ address, call, search }: { address: string; call: Call; search: Search }) => {
  const { loaded, isFailed, again } = useRecording(address)
  if (!isFailed)
    return (
      <div class={search.marks ? 'call-recording has-marks' : 'call-recording'}>
        {loaded ? <Player call={call} loaded={loaded} search={search} /> : <Skeleton rows={3} />}
      </div>
    )
  return (
    <div class="stack stack-close" role="alert">
      <p>{words.recording.failed}</p>
      <div>
        <Button icon="refresh-cw" onClick={again}>
          {words.recording.again}
        </Button>
      </div>
    </div>
  )
}

/** The recording of a call with its waveform, or why there is none. */
export const Recording = ({ call, search }: { call: Call; search: Search }) => {
  if (!call.recording_url)
    return (
      <p class="soft">
        {words.recording.none} {reasonOf(call)}
      </p>
    )
  return <Loader address={sameOrigin(call.recording_url)} call={call} search={search} />
}
