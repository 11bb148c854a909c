import { words } from '../words/en/phone.ts'

/**
 * Asks for the microphone in the tab that the person sees: a question in a hidden tab would not be seen.
 * @returns the problem in words, or null
 */
export const askMicrophone = async (): Promise<string | null> => {
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
    for (const track of stream.getTracks()) track.stop()
    return null
  } catch (error) {
    const isDenied = error instanceof Error && ['NotAllowedError', 'SecurityError'].includes(error.name)
    return isDenied ? words.problems.denied : words.problems.noMicrophone
  }
}
