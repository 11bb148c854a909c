import { notificationChoices } from '../live/notification-choices.ts'
import { audio, audioContext, playTones } from '../shell/audio.ts'

// The sound of a call that waits: a double ring, or two soft tones during another call.

const sounds = {
  ring: {
    hertz: [400, 450],
    bursts: [
      [0, 0.4],
      [0.6, 0.4],
    ],
    volume: 0.12,
    every: 3_000,
  },
  waiting: {
    hertz: [440],
    bursts: [
      [0, 0.15],
      [0.3, 0.15],
    ],
    volume: 0.05,
    every: 6_000,
  },
} as const

let sounding: keyof typeof sounds | null = null
let stop = () => {}

const begin = (kind: keyof typeof sounds): (() => void) => {
  const { hertz, bursts, volume, every } = sounds[kind]
  let isOver = false
  let end = () => {}
  let timer: ReturnType<typeof setInterval> | undefined
  void audioContext().then((context) => {
    if (isOver) return
    const once = () => {
      end = playTones(context, hertz, bursts, volume)
    }
    once()
    timer = setInterval(once, every)
  })
  return () => {
    isOver = true
    clearInterval(timer)
    end()
  }
}

/** Rings until it is called with null. */
export const ring = (kind: keyof typeof sounds | null): void => {
  // The one is of this device, the other of the person.
  const sound = audio.value.rings && notificationChoices().sound_calls ? kind : null
  if (sound === sounding) return
  sounding = sound
  stop()
  stop = sound ? begin(sound) : () => {}
}
