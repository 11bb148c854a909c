/** Milliseconds. An address is found within 100 ms. Firefox without one does not even report the end. */
const patience = 5_000

const look = async (): Promise<boolean> => {
  // Some extensions and policies remove it.
  if (!globalThis.RTCPeerConnection) return false
  const connection = new RTCPeerConnection()
  try {
    connection.addTransceiver('audio')
    const { promise, resolve } = Promise.withResolvers<boolean>()
    connection.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate) resolve(true)
      else if (candidate === null) resolve(false)
    }
    setTimeout(resolve, patience, false)
    await connection.setLocalDescription()
    return await promise
  } finally {
    connection.close()
  }
}

let known: Promise<boolean> | undefined

/** True if the browser offers a network address for the sound of calls. Looks once in each page. */
export const hasNetworkAddress = (): Promise<boolean> => {
  known ??= look().catch(() => true)
  return known
}
