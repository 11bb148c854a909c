import { mediaError, VoiceError } from './fault.ts'

/** Devices of the browser, by the ids of `navigator.mediaDevices.enumerateDevices()`; absent for the browser's choice. */
export type MediaChoice = { inputDeviceId?: string; outputDeviceId?: string }

/** @throws VoiceError MEDIA_DENIED, MEDIA_FAILED */
export const openMicrophone = async (deviceId?: string): Promise<MediaStream> => {
  // Absent on pages that came neither over HTTPS nor from this machine.
  if (!navigator.mediaDevices) throw new VoiceError('MEDIA_FAILED', 'A microphone is given to HTTPS pages only')
  try {
    const audio = deviceId ? { deviceId: { exact: deviceId } } : true
    return await navigator.mediaDevices.getUserMedia({ audio, video: false })
  } catch (error) {
    throw mediaError(error)
  }
}

export const closeStream = (stream: MediaStream | null): void => {
  for (const track of stream?.getTracks() ?? []) track.stop()
}

/** Sends an element's sound to a device. Browsers that cannot choose play it where they always do. */
export const play = async (element: HTMLAudioElement, outputDeviceId?: string): Promise<void> => {
  if (outputDeviceId && 'setSinkId' in element) await element.setSinkId(outputDeviceId)
  await element.play()
}

/** What is heard while somebody calls; silent without an address, and where the browser wants a click before any sound. */
export class Ringtone {
  private readonly url: string | undefined
  private element: HTMLAudioElement | null = null
  private readonly ringing = new Set<object>()

  constructor(url: string | undefined) {
    this.url = url
  }

  start(by: object, outputDeviceId?: string): void {
    this.ringing.add(by)
    if (!this.url || this.element) return
    this.element = new Audio(this.url)
    this.element.loop = true
    play(this.element, outputDeviceId).catch(() => {})
  }

  stop(by: object): void {
    if (!this.ringing.delete(by) || this.ringing.size > 0) return
    this.element?.pause()
    this.element = null
  }
}
