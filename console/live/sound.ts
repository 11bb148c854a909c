// Sounds of the page, made here: a file would be one more request, and a message needs no more than two tones.

/** Frequencies in Hz, one after the other. */
const tones = { messages: [880, 1_175], calls: [440, 554, 440, 554] } as const

const toneSeconds = 0.16
const volume = 0.08

let context: AudioContext | undefined

/** Plays a sound. Browsers are silent until the person has clicked or typed in the page. */
export const playSound = (kind: keyof typeof tones): void => {
  try {
    context ??= new AudioContext()
    void context.resume()
    const gain = context.createGain()
    gain.gain.value = volume
    gain.connect(context.destination)
    for (const [index, frequency] of tones[kind].entries()) {
      const oscillator = context.createOscillator()
      oscillator.frequency.value = frequency
      oscillator.connect(gain)
      oscillator.start(context.currentTime + index * toneSeconds)
      oscillator.stop(context.currentTime + (index + 1) * toneSeconds * 0.9)
    }
  } catch {
    // A machine without sound.
  }
}
