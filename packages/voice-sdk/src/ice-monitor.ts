/** Returns whether no media gets through because the network of the call is gone. */
export const isIceBroken = ({ iceConnectionState }: RTCPeerConnection): boolean =>
  iceConnectionState === 'disconnected' || iceConnectionState === 'failed'

/**
 * Calls `broken` when the media path of a connected call breaks. JsSIP would end a call whose ICE has failed, but the
 * call may continue over another network (RFC 8445, 2.4). The server ends the call after a minute of silence.
 */
export const watchIce = (connection: RTCPeerConnection, broken: () => void): void => {
  let wasConnected = false
  const check = (event: Event) => {
    const { iceConnectionState: state } = connection
    wasConnected ||= state === 'connected' || state === 'completed'
    if (!wasConnected || !isIceBroken(connection)) return
    if (state === 'failed') event.stopImmediatePropagation()
    broken()
  }
  // Capturing, so that it runs before the listener of JsSIP.
  connection.addEventListener('iceconnectionstatechange', check, { capture: true })
}
