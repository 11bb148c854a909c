import { signal } from '@preact/signals'

// Devices and sounds of the telephone, as this browser stores them.

export type AudioChoice = {
  /** Ids of devices; empty: the choice of the browser. */
  readonly microphone: string
  readonly speaker: string
  readonly rings: boolean
}

const key = 'trunkline.audio'
const defaults: AudioChoice = { microphone: '', speaker: '', rings: true }

const read = (): AudioChoice => {
  try {
    const { microphone, speaker, rings } = { ...defaults, ...JSON.parse(localStorage.getItem(key) ?? '{}') }
    return { microphone: String(microphone), speaker: String(speaker), rings: rings !== false }
  } catch {
    return defaults
  }
}

export const audio = signal<AudioChoice>(read())

/** Changes the choice, in all tabs. */
export const chooseAudio = (change: Partial<AudioChoice>): void => {
  audio.value = { ...audio.value, ...change }
  try {
    localStorage.setItem(key, JSON.stringify(audio.value))
  } catch {
    // The browser forbids storage: the choice lasts until the page is closed.
  }
}

addEventListener('storage', (event) => {
  if (event.key === key) audio.value = read()
})

let context: AudioContext | undefined

/** Returns the audio context of the page, on the loudspeaker of the choice. */
export const audioContext = async (): Promise<AudioContext> => {
  context ??= new AudioContext()
  // Not in the types yet, and not in every browser.
  const output = context as unknown as { readonly setSinkId?: (id: string) => Promise<void> }
  await output.setSinkId?.(audio.value.speaker).catch(() => {})
  // Browsers start it only after a click in the page.
  void context.resume()
  return context
}

/**
 * Plays tones together, in bursts.
 * @param bursts start and length in seconds
 * @returns the function that stops them
 */
export const playTones = (
  context: AudioContext,
  hertz: readonly number[],
  bursts: readonly (readonly [start: number, length: number])[],
  volume = 0.12,
): (() => void) => {
  const gain = new GainNode(context, { gain: 0 })
  gain.connect(context.destination)
  const begin = context.currentTime + 0.02
  for (const [start, length] of bursts) {
    gain.gain.setTargetAtTime(volume, begin + start, 0.01)
    gain.gain.setTargetAtTime(0, begin + start + length, 0.01)
  }
  const tones = hertz.map((frequency) => new OscillatorNode(context, { frequency }))
  const end = Math.max(...bursts.map(([start, length]) => start + length)) + 0.1
  for (const tone of tones) {
    tone.connect(gain)
    tone.start(begin)
    tone.stop(begin + end)
  }
  return () => {
    for (const tone of tones) tone.disconnect()
    gain.disconnect()
  }
}
