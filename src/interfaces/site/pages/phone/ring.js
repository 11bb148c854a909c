// The ringtone: two tones of 400 and 450 Hz, twice, then silence for two seconds. Generated here, so that no file must
// be loaded.

const rate = 8000
const seconds = 3
const bursts = [
  [0, 0.4],
  [0.6, 1],
]

const sample = (at) => {
  const burst = bursts.find(([start, end]) => at >= start && at < end)
  if (!burst) return 0
  const edge = Math.min(1, (at - burst[0]) * 50, (burst[1] - at) * 50)
  return 0.2 * edge * (Math.sin(2 * Math.PI * 400 * at) + Math.sin(2 * Math.PI * 450 * at))
}

/** Returns the address of a WAV file in this page's memory. */
export const makeRingtone = () => {
  const count = rate * seconds
  const view = new DataView(new ArrayBuffer(44 + 2 * count))
  const text = (at, word) => {
    for (let i = 0; i < word.length; i++) view.setUint8(at + i, word.charCodeAt(i))
  }
  text(0, 'RIFF')
  view.setUint32(4, 36 + 2 * count, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, 2 * rate, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, 2 * count, true)
  for (let i = 0; i < count; i++) view.setInt16(44 + 2 * i, 32767 * sample(i / rate), true)
  return URL.createObjectURL(new Blob([view], { type: 'audio/wav' }))
}
