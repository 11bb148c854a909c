import { mediaError, VoiceError } from './voice-error.ts'

/** Ids of devices from `navigator.mediaDevices.enumerateDevices()`. Default: the choice of the browser. */
export type MediaChoice = { inputDeviceId?: string; outputDeviceId?: string }

/** @throws VoiceError MEDIA_DENIED, MEDIA_FAILED */
export const openMicrophone = async (deviceId?: string): Promise<MediaStream> => {
  // Browsers provide it only on pages from HTTPS or localhost.
  if (!navigator.mediaDevices)
    throw new VoiceError('MEDIA_FAILED', 'The browser allows a microphone on HTTPS pages only')
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

/** Plays an element on a device. Browsers without setSinkId use their default device. */
export const play = async (element: HTMLAudioElement, outputDeviceId?: string): Promise<void> => {
  if (outputDeviceId && 'setSinkId' in element) await element.setSinkId(outputDeviceId)
  await element.play()
}

/** Plays the ringtone of incoming calls. Silent without a URL, and if the browser requires a click before any sound. */
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
