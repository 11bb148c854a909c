import { by, notify, say, show } from './dom.js'

/** The media settings that the SDK reads for every call. */
export const media = {}

const kinds = [
  ['input', 'audioinput', 'inputDeviceId', 'Microphone'],
  ['output', 'audiooutput', 'outputDeviceId', 'Loudspeaker'],
]

const list = async () => {
  const devices = await navigator.mediaDevices.enumerateDevices()
  for (const [id, kind, choice, name] of kinds) {
    const found = devices.filter((device) => device.kind === kind && device.deviceId !== '')
    const options = found.map(({ deviceId, label }, i) => new Option(label || `${name} ${i + 1}`, deviceId))
    by(id).replaceChildren(...(options.length > 0 ? options : [new Option('The browser’s choice', '')]))
    if (found.some(({ deviceId }) => deviceId === media[choice])) by(id).value = media[choice]
    else delete media[choice]
  }
}

/** An address is found within 100 ms; Firefox without one does not even report completion. */
const addressMs = 5_000

/** Returns whether the browser has a network address for audio. */
const hasAddress = async () => {
  // Some extensions and policies remove it.
  if (!globalThis.RTCPeerConnection) return false
  const connection = new RTCPeerConnection()
  try {
    connection.addTransceiver('audio')
    const found = new Promise((resolve) => {
      connection.onicecandidate = ({ candidate }) => {
        if (candidate === null) resolve(false)
        else if (candidate.candidate !== '') resolve(true)
      }
      setTimeout(resolve, addressMs, false)
    })
    await connection.setLocalDescription()
    return await found
  } finally {
    connection.close()
  }
}

/** Requests the microphone before the first call, and lists the devices. @param current the call, or null */
export const prepareSound = async (current) => {
  for (const [id, , choice] of kinds)
    by(id).onchange = async () => {
      const value = by(id).value
      media[choice] = value
      const call = current()
      try {
        if (call) await (id === 'input' ? call.setInputDevice(value) : call.setOutputDevice(value))
      } catch (error) {
        notify(error.message)
      }
    }
  if (!navigator.mediaDevices) {
    notify(
      'Browsers give a microphone to pages that come over HTTPS, or from this very machine. Calls cannot be made here.',
    )
    return
  }
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
    for (const track of stream.getTracks()) track.stop()
  } catch {
    notify('There is no microphone, or it was not allowed: calls need one. Allow it next to the address of this page.')
  }
  navigator.mediaDevices.ondevicechange = list
  await list()
  if (!(await hasAddress()))
    notify(
      'Calls have no sound in this browser: it offers no network address for them. Connect this computer to a network, ' +
        'or allow WebRTC without a proxy in the settings and extensions of the browser. Then reload this page.',
    )
}

const grades = [
  [4, 4, 'Very good'],
  [3.6, 3, 'Good'],
  [3, 2, 'Fair'],
  [0, 1, 'Poor'],
]

/** @param quality from the SDK, or null without a call */
export const showQuality = (quality) => {
  show('figures', quality !== null)
  const [, bars, word] = quality ? grades.find(([mos]) => quality.mos >= mos) : [0, 0, 'No call']
  by('quality').dataset.bars = bars
  say('grade', word)
  if (!quality) return
  say('mos', quality.mos.toFixed(1))
  say('trip', quality.roundTripMs === null ? '–' : `${quality.roundTripMs} ms`)
  say('loss', `${quality.lossPercent} %`)
  say('jitter', `${quality.jitterMs} ms`)
  say('codec', (quality.codec ?? '–').replace('audio/', ''))
  say('packets', `${quality.packetsReceived}, ${quality.packetsSent}`)
}
